// Package webhook is the vocabulary of outbound webhooks: the kinds of event, the request's body and headers, and how a
// receiver verifies it.
//
// A request has the headers and the signature of Standard Webhooks (standardwebhooks.com). A receiver written in Go
// verifies it with [Verify].
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

// WakeSubject is the subject of the NATS message that tells senders to look for work. It has no data.
const WakeSubject = "callboard.webhooks.wake"

// DueSubject is the subject of the NATS message by which a sender tells others which endpoints got deliveries. Its data
// is a JSON array of their ids.
const DueSubject = "callboard.webhooks.due"

// Event is what a receiver is told.
type Event struct {
	ID        string // the same at every attempt and repetition; a receiver drops an event whose id it has seen
	Type      Kind
	Timestamp time.Time // when the stream stored the message that made the artifact fetchable, to the millisecond
	Data      Data
}

// Data are the identifiers with which a receiver fetches what the event is about. [uuid.Nil] and an empty sid are
// absent.
type Data struct {
	PhoneSystemID uuid.UUID `json:"phoneSystemId,omitzero"`
	CallSid       string    `json:"callSid,omitzero"`
	RecordingSid  string    `json:"recordingSid,omitzero"` // of call.recording.available
	CallLogID     uuid.UUID `json:"callLogId,omitzero"`    // of a call's transcription, and of call.analysis.completed
	VoicemailID   uuid.UUID `json:"voicemailId,omitzero"`  // of a voicemail's transcription, and of voicemail.created
}

// body is a request's body.
type body struct {
	Type      Kind   `json:"type"`
	Timestamp string `json:"timestamp"` // RFC 3339 in UTC with milliseconds
	Data      Data   `json:"data"`
}

// Body returns the request's body: compact JSON, whose bytes depend on the event alone.
func (e Event) Body() []byte {
	at := e.Timestamp.UTC().Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z07:00")
	encoded, _ := json.Marshal(body{e.Type, at, e.Data}) // texts and UUIDs can be encoded
	return encoded
}

// parseBody reads a request's body. Members that it doesn't know are ignored: a later release may add some.
func parseBody(encoded []byte) (Event, error) {
	var b body
	if err := json.Unmarshal(encoded, &b); err != nil {
		return Event{}, fmt.Errorf("body: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, b.Timestamp)
	if err != nil {
		return Event{}, fmt.Errorf("body: timestamp: %w", err)
	}
	return Event{Type: b.Type, Timestamp: at, Data: b.Data}, nil
}

// idBytes is how much of the digest an id has: 160 bits.
const idBytes = 20

// ID returns the id of the event that says that an artifact can be fetched. key identifies the artifact in its phone
// system: the id of a call log, voicemail or analysis, the sid of a recording, the key of a transcript. version is the
// version at which it became available; 0 for [CallEnded]. The id has no dot, which separates the parts of what is
// signed.
func ID(kind Kind, phoneSystem uuid.UUID, key string, version int64) string {
	digest := sha256.Sum256([]byte(strings.Join([]string{string(kind), phoneSystem.String(), key,
		strconv.FormatInt(version, 10)}, "\x00")))
	return "evt_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest[:idBytes]))
}
