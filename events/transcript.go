package events

import (
	"math"
	"regexp"

	"github.com/google/uuid"
)

// Transcript is the transcription of one call or one voicemail, which is its key.
type Transcript struct {
	PhoneSystemID uuid.UUID       `json:"phoneSystemId"`
	CallID        Null[uuid.UUID] `json:"callId"`      // exactly one of CallID
	VoicemailID   Null[uuid.UUID] `json:"voicemailId"` // and VoicemailID
	Version       int64           `json:"version"`
	Status        string          `json:"status"` // queued, running, completed, failed, skipped, removed
	Text          Null[string]    `json:"text,omitzero"`
	Turns         []Turn          `json:"turns,omitzero"`
	Object        *Object         `json:"object,omitzero"` // where text and turns are, if not here
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

// Turn is what one voice said. Times are in seconds from the start; one never recorded is null.
type Turn struct {
	Text         string        `json:"text"`
	Speaker      Speaker       `json:"speaker"`
	StartSeconds Null[float64] `json:"startSeconds"`
	EndSeconds   Null[float64] `json:"endSeconds"`
	Confidence   Null[float64] `json:"confidence"`
}

// Speaker is one of {kind: role, role: agent or customer}, {kind: numbered, ordinal} and {kind: unattributed}.
type Speaker struct {
	Kind    string      `json:"kind"`
	Role    string      `json:"role,omitempty"`
	Ordinal Null[int64] `json:"ordinal,omitzero"`
}

// Object is a claim check: the entry of a JetStream Object Store that holds a body too large for a message.
type Object struct {
	Bucket string `json:"bucket"`
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // SHA-256=<URL-safe base64>
}

// OwnerRow is the call or voicemail that was transcribed.
func (t *Transcript) OwnerRow() OwnerRow { return OwnerRowOf(t.CallID, t.VoicemailID) }

// Identity implements [State].
func (t *Transcript) Identity() Identity {
	return Identity{EntityTranscript, t.PhoneSystemID, t.OwnerRow().Key(), t.Version}
}

func readTranscript(o *object) State {
	t := &Transcript{
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		CallID:        nullable(o, "callId", identifier),
		VoicemailID:   nullable(o, "voicemailId", identifier),
		Version:       readVersion(o),
		Status: required(o, "status", oneOf(TranscriptQueued, TranscriptRunning, TranscriptCompleted,
			TranscriptFailed, TranscriptSkipped, TranscriptRemoved)),
		Object: nested(o, "object", readObject),
	}
	checkOwner(o, t.CallID, t.VoicemailID)
	t.readBody(o)
	if t.Object != nil && (t.Text.Valid || len(t.Turns) > 0) {
		o.problem("object", "must be absent where text or turns are present")
	}
	return t
}

func (t *Transcript) readBody(o *object) {
	t.Text = nullable(o, "text", text)
	if o.has("turns") {
		t.Turns = list(o, "turns", readTurn)
	}
}

// ReadBody sets Text and Turns from the entry that Object names, and clears Object. The error, an [*InvalidError], lists every
// problem; the transcript is then unchanged.
func (t *Transcript) ReadBody(data []byte) error {
	var p problems
	read := *t
	read.Object = nil
	if o := rootObject(data, &p); o != nil {
		read.readBody(o)
	}
	if len(p) == 0 {
		*t = read
	}
	return p.err()
}

func readTurn(o *object) Turn {
	return Turn{
		Text:         required(o, "text", text),
		Speaker:      requiredNested(o, "speaker", readSpeaker),
		StartSeconds: nullable(o, "startSeconds", number),
		EndSeconds:   nullable(o, "endSeconds", number),
		Confidence:   nullable(o, "confidence", number),
	}
}

func readSpeaker(o *object) Speaker {
	s := Speaker{Kind: required(o, "kind", oneOf("role", "numbered", "unattributed"))}
	switch s.Kind {
	case "role":
		s.Role = required(o, "role", oneOf("agent", "customer"))
	case "numbered":
		s.Ordinal = Some(required(o, "ordinal", integer(math.MinInt32, math.MaxInt32)))
	}
	return s
}

var digestShape = regexp.MustCompile(`^SHA-256=[A-Za-z0-9_-]{43}=?$`)

func readObject(o *object) Object {
	return Object{
		Bucket: required(o, "bucket", name),
		Name:   required(o, "name", name),
		Bytes:  required(o, "bytes", integer(0, math.MaxInt64)),
		Digest: required(o, "digest", matching(digestShape, "must be SHA-256= and the digest in URL-safe base64")),
	}
}
