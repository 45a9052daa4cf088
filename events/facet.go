package events

import (
	"math"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// OwnerRow identifies the call or the voicemail to which a facet (transcript, recording, analysis) belongs.
type OwnerRow struct {
	Entity Entity // EntityCall, EntityVoicemail, or empty if unknown
	ID     uuid.UUID
}

// Key returns "call/<id>" or "voicemail/<id>".
func (o OwnerRow) Key() string { return string(o.Entity) + "/" + o.ID.String() }

// ownerRowOf returns the OwnerRow that a state's callId and voicemailId name.
func ownerRowOf(callID, voicemailID Null[uuid.UUID]) OwnerRow {
	switch {
	case callID.Valid:
		return OwnerRow{EntityCall, callID.Value}
	case voicemailID.Valid:
		return OwnerRow{EntityVoicemail, voicemailID.Value}
	}
	return OwnerRow{}
}

// ParseOwnerRow parses the form of [OwnerRow.Key]; ok is false for any other text.
func ParseOwnerRow(key string) (owner OwnerRow, ok bool) {
	entity, id, _ := strings.Cut(key, "/")
	parsed, err := uuid.Parse(id)
	owner = OwnerRow{Entity(entity), parsed}
	return owner, err == nil && len(id) == uuidLength && id == strings.ToLower(id)
}

func readOwnerRow(o *object) OwnerRow {
	call, voicemail := nullable(o, "callId", identifier), nullable(o, "voicemailId", identifier)
	checkOwnerRow(o, call, voicemail)
	return ownerRowOf(call, voicemail)
}

func checkOwnerRow(o *object, callID, voicemailID Null[uuid.UUID]) {
	if callID.Valid == voicemailID.Valid {
		o.problem("callId", "exactly one of callId and voicemailId is required")
	}
}

// Transcript is the transcription of one call or one voicemail, which is its key.
type Transcript struct {
	PhoneSystemID uuid.UUID       `json:"phoneSystemId"`
	CallID        Null[uuid.UUID] `json:"callId"`      // exactly one of CallID
	VoicemailID   Null[uuid.UUID] `json:"voicemailId"` // and VoicemailID
	Version       int64           `json:"version"`
	Status        string          `json:"status" is:"queued|running|completed|failed|skipped|removed"`
	Text          Null[string]    `json:"text,omitzero" is:"-"`
	Turns         []Turn          `json:"turns,omitzero" is:"-"`
	Object        *Object         `json:"object,omitzero"` // the claim check that replaces Text and Turns
}

// Transcript statuses.
const (
	TranscriptQueued    = "queued"
	TranscriptRunning   = "running"
	TranscriptCompleted = "completed"
	TranscriptFailed    = "failed"
	TranscriptSkipped   = "skipped"
	TranscriptRemoved   = "removed"
)

// Turn is an uninterrupted part of the transcript by one speaker. Times are in seconds from the start, or null if
// unknown.
type Turn struct {
	Text         string        `json:"text" is:"any text"`
	Speaker      Speaker       `json:"speaker"`
	StartSeconds Null[float64] `json:"startSeconds"`
	EndSeconds   Null[float64] `json:"endSeconds"`
	Confidence   Null[float64] `json:"confidence"`
}

// Speaker is one of {kind: role, role: agent or customer}, {kind: numbered, ordinal} and {kind: unattributed}.
type Speaker struct {
	Kind    string      `json:"kind" is:"role|numbered|unattributed"`
	Role    string      `json:"role,omitempty" is:"-"`
	Ordinal Null[int64] `json:"ordinal,omitzero" is:"-"`
}

// Object is a claim check: it names the entry of a JetStream Object Store that holds a body too large for a message.
type Object struct {
	Bucket string `json:"bucket" is:"bucket"`
	Name   string `json:"name" is:"objectName"`
	Bytes  int64  `json:"bytes" is:"body bytes"`
	Digest string `json:"digest" is:"digest"` // SHA-256=<URL-safe base64>
}

// OwnerRow returns the call or voicemail that was transcribed.
func (t *Transcript) OwnerRow() OwnerRow { return ownerRowOf(t.CallID, t.VoicemailID) }

// Identity implements [State].
func (t *Transcript) Identity() Identity {
	return Identity{EntityTranscript, t.PhoneSystemID, t.OwnerRow().Key(), t.Version}
}

// check implements [checked].
func (t *Transcript) check(o *object) {
	checkOwnerRow(o, t.CallID, t.VoicemailID)
	t.readBody(o)
	if t.Object != nil && (t.Text.Valid || len(t.Turns) > 0) {
		o.problem("object", "must be absent where text or turns are present")
	}
}

func (t *Transcript) readBody(o *object) {
	t.Text = nullable(o, "text", storable)
	if o.has("turns") {
		planOf(reflect.TypeFor[Turn]()).readList(o, "turns", reflect.ValueOf(&t.Turns).Elem())
	}
	if t.tooLarge() {
		o.problem("text", "text and turns "+atMost(maxTranscript, "bytes together as JSON"))
	}
}

// tooLarge reports whether the text and the turns have too many bytes as JSON.
func (t *Transcript) tooLarge() bool {
	// Nearly all transcripts are so much smaller that an estimate is enough.
	const perByte, perTurn = 6, 256 // an escape, and all members but the text with the longest numbers
	estimate := perByte * len(t.Text.Value)
	for _, turn := range t.Turns {
		estimate += perByte*len(turn.Text) + perTurn
	}
	if estimate <= maxTranscript {
		return false
	}

	var turns byteCounter
	err := json.MarshalWrite(&turns, t.Turns)
	return err != nil || jsonSize(t.Text.Value)+int(turns) > maxTranscript
}

// byteCounter counts what is written.
type byteCounter int

// Write implements [io.Writer].
func (c *byteCounter) Write(b []byte) (int, error) {
	*c += byteCounter(len(b))
	return len(b), nil
}

// ReadBody sets Text and Turns from the body of the entry that Object names, and clears Object. An error is an
// [*InvalidError] with every problem, and leaves the transcript unchanged.
func (t *Transcript) ReadBody(data []byte) error {
	var d document
	var p problems

	// The members are read into a copy, because an error must leave the transcript unchanged.
	read := *t
	read.Object = nil

	if o := d.object(data, &p); o != nil {
		read.readBody(o)
	}

	if len(p) == 0 {
		*t = read
	}
	return p.err()
}

// check implements [checked]. It reads the member that the kind has.
func (s *Speaker) check(o *object) {
	switch s.Kind {
	case "role":
		s.Role = required(o, "role", oneOf("agent", "customer"))
	case "numbered":
		s.Ordinal = Some(required(o, "ordinal", integer(math.MinInt32, math.MaxInt32)))
	}
}

func isDigest(s string) bool {
	rest, ok := strings.CutPrefix(s, "SHA-256=")
	return ok && consists(strings.TrimSuffix(rest, "="), 43, 43, isURLSafe)
}

// Recording is the audio of one call or one voicemail.
type Recording struct {
	RecordingSid    string          `json:"recordingSid" is:"recordingSid"` // RE...
	PhoneSystemID   uuid.UUID       `json:"phoneSystemId"`
	CallID          Null[uuid.UUID] `json:"callId"`      // exactly one of CallID
	VoicemailID     Null[uuid.UUID] `json:"voicemailId"` // and VoicemailID
	Version         int64           `json:"version"`
	Status          string          `json:"status" is:"processing|ready|unavailable"`
	DurationSeconds Null[int64]     `json:"durationSeconds" is:"seconds"`
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
	Key         string `json:"key" is:"audioKey"`
	ContentType string `json:"contentType" is:"name"`
	Bytes       int64  `json:"bytes" is:"bytes"`
}

// OwnerRow returns the call or voicemail that was recorded.
func (r *Recording) OwnerRow() OwnerRow { return ownerRowOf(r.CallID, r.VoicemailID) }

// Identity implements [State].
func (r *Recording) Identity() Identity {
	return Identity{EntityRecording, r.PhoneSystemID, r.RecordingSid, r.Version}
}

// check implements [checked].
func (r *Recording) check(o *object) {
	checkOwnerRow(o, r.CallID, r.VoicemailID)
	if r.Status == RecordingReady && !o.has("audio") {
		o.problem("audio", "is required when status is ready")
	}
}

func recordingSid(v value) (string, string) {
	return matching(isRecordingSid, "must be RE and 1 to 62 letters, digits, - or _")(v)
}

func isRecordingSid(s string) bool {
	rest, ok := strings.CutPrefix(s, "RE")
	return ok && consists(rest, 1, 62, isURLSafe)
}
