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

// Reader turns the messages of a partition into items, in order.
type Reader struct {
	Decisions store.Decisions
	System    uuid.NullUUID // whose events are decoded alone; none: all are

	decoder events.Decoder
}

// Read decodes messages.
func (r *Reader) Read(messages []events.StoredMessage) []Decoded {
	items := make([]Decoded, 0, len(messages))
	for _, m := range messages {
		it := Decoded{StoredMessage: m}
		if it.Subject == events.ClockSubject {
			it.clock = true
			items = append(items, it)
			continue
		}
		if r.System.Valid && events.SubjectSystem(it.Subject) != r.System.UUID {
			it.notBuilt = true
			items = append(items, it)
			continue
		}
		if reason, dead := r.Decisions.DeadLetters[store.NewMessageID(m.Sequence, m.StoredAt)]; dead {
			it.Reason = reason
		} else if named, storedAt, ok := events.ParseRetry(it.Header); ok {
			it.retryOf = store.MessageID{Sequence: named, StoredAt: storedAt}
		}
		items = append(items, r.decode(it))
	}
	return items
}

// decode decodes the event, unless the item was a dead letter at the first application.
func (r *Reader) decode(it Decoded) Decoded {
	if it.Reason != "" {
		return it
	}
	var err error
	if it.Event, err = r.decoder.Decode(it.Message); err != nil {
		it.Reason = err.Error()
	}
	return it
}

// message is the item as the fold sees it.
func (it Decoded) message() fold.Message {
	return fold.Message{
		Sequence: it.Sequence, StoredAt: events.TimeOf(it.StoredAt), Event: it.Event, Reason: it.Reason, Clock: it.clock, NotBuilt: it.notBuilt,
	}
}

// eventsOf returns the events of the items that have one.
func eventsOf(items []Decoded) []events.Event {
	list := make([]events.Event, 0, len(items))
	for _, it := range items {
		if it.Reason == "" && !it.clock && !it.notBuilt {
			list = append(list, it.Event)
		}
	}
	return list
}

// DeadLetter returns the item as a dead letter.
func (it Decoded) DeadLetter(reason string) store.DeadLetter {
	return store.DeadLetter{
		Sequence: it.Sequence,
		Subject:  printable(it.Subject),
		Header:   store.EncodeHeader(it.Header),
		Data:     it.Data,
		Reason:   printable(reason),
		StoredAt: it.StoredAt,
	}
}

// retryCandidates returns what the items that name a dead letter claim.
func retryCandidates(items []Decoded) (claims []store.RetryCandidate) {
	for _, it := range items {
		if it.retryOf != (store.MessageID{}) {
			claims = append(claims, store.RetryCandidate{
				Sequence: it.Sequence, DeadLetter: it.retryOf, Subject: printable(it.Subject), Digest: sha256.Sum256(it.Data),
			})
		}
	}
	return claims
}

func (it Decoded) retry(outcome fold.Outcome, reason string) store.Retry {
	if outcome == fold.Conflicting {
		outcome = fold.Stale // a dead letter is resolved as stale
	}
	return store.Retry{
		Sequence: it.Sequence, StoredAt: it.StoredAt, DeadLetter: it.retryOf, Outcome: outcome, Reason: printable(reason),
	}
}

func (it Decoded) notice(n fold.Notice) store.Notice {
	return store.Notice{Sequence: it.Sequence, StoredAt: it.StoredAt, TraceParent: it.TraceParent(), Notice: n}
}

// printable returns s if PostgreSQL can store it as text, else s in quotes with escapes.
func printable(s string) string {
	if valid := strings.ToValidUTF8(s, ""); valid == s && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strconv.QuoteToASCII(s)
}
