package ingest

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Decoded is a message that was decoded: an event, or the reason why it can't be applied.
type Decoded struct {
	events.StoredMessage
	Event  events.Event
	Reason string // of a dead letter; empty: the event can be applied

	clock    bool            // a clock message: it raises the watermark, and is not an event
	notBuilt bool            // of another phone system than the one that is built: it moves the clock alone
	retryOf  store.MessageID // the dead letter that the message names, unless it is recorded as failed; zero: none
}

// Decoder decodes the messages of a partition, in order.
type Decoder struct {
	Decisions store.Decisions
	System    uuid.NullUUID // whose events are decoded alone; none: all are

	decoder events.Decoder
}

// Decode decodes messages.
func (d *Decoder) Decode(stored []events.StoredMessage) []Decoded {
	messages := make([]Decoded, 0, len(stored))
	for _, s := range stored {
		m := Decoded{StoredMessage: s}

		if m.Subject == events.ClockSubject {
			m.clock = true
			messages = append(messages, m)
			continue
		}

		if d.System.Valid && events.SubjectSystem(m.Subject) != d.System.UUID {
			m.notBuilt = true
			messages = append(messages, m)
			continue
		}

		// A dead letter on record is repeated. Only other messages can be retries.
		if reason, dead := d.Decisions.DeadLetters[store.NewMessageID(m.Sequence, m.StoredAt)]; dead {
			m.Reason = reason
		} else if named, storedAt, ok := events.ParseRetry(m.Header); ok {
			m.retryOf = store.MessageID{Sequence: named, StoredAt: storedAt}
		}

		messages = append(messages, d.decode(m))
	}
	return messages
}

// decode decodes the event, unless the message was a dead letter at the first application.
func (d *Decoder) decode(m Decoded) Decoded {
	if m.Reason != "" {
		return m
	}
	var err error
	if m.Event, err = d.decoder.Decode(m.Message); err != nil {
		m.Reason = err.Error()
	}
	return m
}

// toFold returns the message as the fold sees m.
func (m Decoded) toFold() fold.Message {
	return fold.Message{
		Sequence: m.Sequence, StoredAt: events.TimeOf(m.StoredAt), Event: m.Event, Reason: m.Reason, Clock: m.clock,
		NotBuilt: m.notBuilt,
	}
}

// eventsOf returns the events of the messages that have one.
func eventsOf(messages []Decoded) []events.Event {
	list := make([]events.Event, 0, len(messages))
	for _, m := range messages {
		if m.Reason == "" && !m.clock && !m.notBuilt {
			list = append(list, m.Event)
		}
	}
	return list
}

// DeadLetter returns the message as a dead letter.
func (m Decoded) DeadLetter(reason string) store.DeadLetter {
	return store.DeadLetter{
		Sequence: m.Sequence,
		Subject:  printable(m.Subject),
		Header:   store.EncodeHeader(m.Header),
		Data:     m.Data,
		Reason:   printable(reason),
		StoredAt: m.StoredAt,
	}
}

// retryCandidates returns the messages that name a dead letter.
func retryCandidates(messages []Decoded) (candidates []store.RetryCandidate) {
	for _, m := range messages {
		if m.retryOf != (store.MessageID{}) {
			candidates = append(candidates, store.RetryCandidate{
				Sequence: m.Sequence, DeadLetter: m.retryOf, Subject: printable(m.Subject), Digest: sha256.Sum256(m.Data),
			})
		}
	}
	return candidates
}

func (m Decoded) retry(outcome fold.Outcome, reason string) store.Retry {
	if outcome == fold.Conflicting {
		outcome = fold.Stale // a dead letter is resolved as stale
	}
	return store.Retry{
		Sequence: m.Sequence, StoredAt: m.StoredAt, DeadLetter: m.retryOf, Outcome: outcome, Reason: printable(reason),
	}
}

func (m Decoded) notice(n fold.Notice) store.Notice {
	return store.Notice{Sequence: m.Sequence, StoredAt: m.StoredAt, TraceParent: m.TraceParent(), Notice: n}
}

// printable returns s if PostgreSQL can store it as text, else s in quotes with escapes.
func printable(s string) string {
	if valid := strings.ToValidUTF8(s, ""); valid == s && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strconv.QuoteToASCII(s)
}
