package events

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
)

// Encode writes an event as a message in binary mode. Text that is not UTF-8 is an error, as is whatever [Decode] would refuse.
func Encode(e Event) (Message, error) {
	data, err := encodeData(e)
	if err != nil {
		return Message{}, err
	}
	m := Message{
		Subject: Subject(e.System, e.Entity),
		Header: nats.Header{
			headerSpecVersion: {specVersion},
			headerID:          {e.ID},
			headerSource:      {e.Source},
			headerType:        {e.Type()},
			headerContentType: {contentJSON},
			nats.MsgIdHdr:     {e.ID},
		},
		Data: data,
	}
	if !e.Time.IsZero() {
		m.Header[headerTime] = []string{e.Time.UTC().Format(time.RFC3339Nano)}
	}
	_, err = Decode(m)
	return m, err
}

// deletion is the data of a "deleted" event; the key's members are those of the entity.
type deletion struct {
	ID            Null[uuid.UUID] `json:"id,omitzero"`
	RecordingSid  string          `json:"recordingSid,omitempty"`
	CallID        Null[uuid.UUID] `json:"callId,omitzero"`
	VoicemailID   Null[uuid.UUID] `json:"voicemailId,omitzero"`
	Kind          string          `json:"kind,omitempty"`
	Code          string          `json:"code,omitempty"`
	PhoneSystemID Null[uuid.UUID] `json:"phoneSystemId,omitzero"`
	Version       int64           `json:"version"`
}

func encodeData(e Event) ([]byte, error) {
	if !e.Deleted() {
		return json.Marshal(e.State, json.Deterministic(true))
	}
	d := deletion{Version: e.Version, PhoneSystemID: Null[uuid.UUID]{e.System, e.System != uuid.Nil}}
	switch e.Entity {
	case EntityTranscript:
		owner, _ := ParseOwnerRow(e.Key)
		d.CallID = Null[uuid.UUID]{owner.ID, owner.Entity == EntityCall}
		d.VoicemailID = Null[uuid.UUID]{owner.ID, owner.Entity == EntityVoicemail}
	case EntityRecording:
		d.RecordingSid = e.Key
	case EntityClassification:
		d.Kind, d.Code, _ = cutKey(e.Key)
	default:
		id, err := uuid.Parse(e.Key)
		if err != nil {
			return nil, err
		}
		d.ID = Some(id)
	}
	return json.Marshal(d)
}
