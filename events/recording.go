package events

import (
	"math"
	"regexp"

	"github.com/google/uuid"
)

// Recording is the audio of one call or one voicemail.
type Recording struct {
	RecordingSid    string          `json:"recordingSid"` // RE...
	PhoneSystemID   uuid.UUID       `json:"phoneSystemId"`
	CallID          Null[uuid.UUID] `json:"callId"`      // exactly one of CallID
	VoicemailID     Null[uuid.UUID] `json:"voicemailId"` // and VoicemailID
	Version         int64           `json:"version"`
	Status          string          `json:"status"` // processing, ready, unavailable
	DurationSeconds Null[int64]     `json:"durationSeconds"`
	CreatedAt       Time            `json:"createdAt"`
	Audio           *Audio          `json:"audio"` // required when ready
}

// Recording statuses.
const (
	RecordingProcessing  = "processing"
	RecordingReady       = "ready"
	RecordingUnavailable = "unavailable"
)

// Audio is an object of the audio store.
type Audio struct {
	Key         string `json:"key"`
	ContentType string `json:"contentType"`
	Bytes       int64  `json:"bytes"`
}

// OwnerRow is the call or voicemail that was recorded.
func (r *Recording) OwnerRow() OwnerRow { return OwnerRowOf(r.CallID, r.VoicemailID) }

// Identity implements [State].
func (r *Recording) Identity() Identity {
	return Identity{EntityRecording, r.PhoneSystemID, r.RecordingSid, r.Version}
}

func readRecording(o *object) State {
	r := &Recording{
		RecordingSid:    required(o, "recordingSid", recordingSid),
		PhoneSystemID:   required(o, "phoneSystemId", identifier),
		CallID:          nullable(o, "callId", identifier),
		VoicemailID:     nullable(o, "voicemailId", identifier),
		Version:         readVersion(o),
		Status:          required(o, "status", oneOf(RecordingProcessing, RecordingReady, RecordingUnavailable)),
		DurationSeconds: nullable(o, "durationSeconds", seconds),
		CreatedAt:       required(o, "createdAt", instant),
		Audio:           nested(o, "audio", readAudio),
	}
	checkOwner(o, r.CallID, r.VoicemailID)
	if r.Status == RecordingReady && !o.has("audio") {
		o.problem("audio", "is required when status is ready")
	}
	return r
}

func readAudio(o *object) Audio {
	return Audio{
		Key:         required(o, "key", name),
		ContentType: required(o, "contentType", name),
		Bytes:       required(o, "bytes", integer(0, math.MaxInt64)),
	}
}

var recordingSidShape = regexp.MustCompile(`^RE[A-Za-z0-9_-]{1,62}$`)

func recordingSid(v value) (string, string) {
	return matching(recordingSidShape, "must be RE and 1 to 62 letters, digits, - or _")(v)
}
