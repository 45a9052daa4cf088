package webhook

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Event is what a receiver is told.
type Event struct {
	ID        string // the same at every attempt and repetition; a receiver drops an event whose id it has seen
	Type      Kind
	Timestamp time.Time // when the stream stored the message that made the artifact fetchable, to the millisecond
	Data      Data
}

// Data are the identifiers with which a receiver fetches what the event is about. [uuid.Nil] and an empty sid are absent.
type Data struct {
	PhoneSystemID uuid.UUID
	CallSid       string
	RecordingSid  string    // of call.recording.available
	CallLogID     uuid.UUID // of call.transcription.completed of a call, and of call.analysis.completed
	VoicemailID   uuid.UUID // of call.transcription.completed of a voicemail, and of voicemail.created
}

// timestampFormat is RFC 3339 in UTC with milliseconds.
const timestampFormat = "2006-01-02T15:04:05.000Z07:00"

type wireEvent struct {
	Type      Kind     `json:"type"`
	Timestamp string   `json:"timestamp"`
	Data      wireData `json:"data"`
}

type wireData struct {
	PhoneSystemID *uuid.UUID `json:"phoneSystemId,omitempty"`
	CallSid       string     `json:"callSid,omitempty"`
	RecordingSid  string     `json:"recordingSid,omitempty"`
	CallLogID     *uuid.UUID `json:"callLogId,omitempty"`
	VoicemailID   *uuid.UUID `json:"voicemailId,omitempty"`
}

// Body returns the request's body: compact JSON, whose bytes depend on the event alone.
func (e Event) Body() []byte {
	body, _ := json.Marshal(wireEvent{ // text, numbers and pointers to them can be encoded
		Type:      e.Type,
		Timestamp: e.Timestamp.UTC().Truncate(time.Millisecond).Format(timestampFormat),
		Data: wireData{
			PhoneSystemID: present(e.Data.PhoneSystemID),
			CallSid:       e.Data.CallSid,
			RecordingSid:  e.Data.RecordingSid,
			CallLogID:     present(e.Data.CallLogID),
			VoicemailID:   present(e.Data.VoicemailID),
		},
	})
	return body
}

func present(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// parseBody reads a request's body. Members that it doesn't know are ignored: a later release may add some.
func parseBody(body []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(body, &w); err != nil {
		return Event{}, fmt.Errorf("body: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, w.Timestamp)
	if err != nil {
		return Event{}, fmt.Errorf("body: timestamp: %w", err)
	}
	e := Event{Type: w.Type, Timestamp: at, Data: Data{CallSid: w.Data.CallSid, RecordingSid: w.Data.RecordingSid}}
	for _, id := range []struct {
		from *uuid.UUID
		to   *uuid.UUID
	}{
		{w.Data.PhoneSystemID, &e.Data.PhoneSystemID},
		{w.Data.CallLogID, &e.Data.CallLogID},
		{w.Data.VoicemailID, &e.Data.VoicemailID},
	} {
		if id.from != nil {
			*id.to = *id.from
		}
	}
	return e, nil
}

// idBytes is how much of the digest an id has: 160 bits.
const idBytes = 20

// ID returns the id of the event that says that an artifact can be fetched. key identifies the artifact in its phone system: the id of a
// call log, voicemail or analysis, the sid of a recording, the key of a transcript. version is the version at which it became available; 0
// for [CallEnded]. The id has no dot, which separates the parts of what is signed.
func ID(kind Kind, phoneSystem uuid.UUID, key string, version int64) string {
	digest := sha256.Sum256([]byte(strings.Join([]string{string(kind), phoneSystem.String(), key, strconv.FormatInt(version, 10)}, "\x00")))
	return "evt_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest[:idBytes]))
}
