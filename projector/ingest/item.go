package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/store"
)

// Item is one message: an event, or the reason why it is none.
type Item struct {
	events.Message
	Sequence uint64
	StoredAt time.Time
	Event    events.Event
	Reason   string // of a dead letter; empty: the event can be applied

	retrySeq   int64 // of a dead letter that is tried again; 0: a message in its place
	retryClock events.Time
	skip       bool // of a system that doesn't count
}

// Reader makes items of a partition's messages, in order.
type Reader struct {
	Decisions store.Decisions // what is used of it is taken off
	Systems   Systems
}

// Systems are the phone systems whose messages count; nil: all. Others only move the clock.
type Systems map[uuid.UUID]struct{}

// Read decodes messages and puts recorded retries among them, each behind the messages up to its position.
func (r *Reader) Read(messages []jetstream.Msg) ([]Item, error) {
	items := make([]Item, 0, len(messages))
	for _, m := range messages {
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("delivery: %w", err)
		}
		sequence := meta.Sequence.Stream
		items = append(items, r.TakeRetries(sequence-1)...)
		it := Item{
			Message:  events.Message{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()},
			Sequence: sequence,
			StoredAt: meta.Timestamp,
		}
		if letter := r.Decisions.DeadLetters[store.NewMessageID(sequence, meta.Timestamp)]; letter != nil {
			it.Reason, letter.Seen = letter.Reason, true
		}
		items = append(items, r.decoded(it))
	}
	return items, nil
}

// Retries are the recorded ones that belong behind the messages up to a sequence, and were not read yet.
func (r *Reader) TakeRetries(upTo uint64) []Item {
	due := r.Decisions.Retries
	if n := slices.IndexFunc(due, func(r store.Retry) bool { return r.Position > upTo }); n >= 0 {
		due = due[:n]
	}
	r.Decisions.Retries = r.Decisions.Retries[len(due):]
	return r.retries(due)
}

// Unread are the dead letters on record whose messages were not among those that were read.
func (r *Reader) UnseenDeadLetters() (unread []store.MessageID) {
	for stamp, letter := range r.Decisions.DeadLetters {
		if !letter.Seen {
			unread = append(unread, stamp)
		}
	}
	slices.SortFunc(unread, func(a, b store.MessageID) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return unread
}

// again is dead letters that are to be tried again.
func (r *Reader) retries(retries []store.Retry) []Item {
	items := make([]Item, len(retries))
	for i, retry := range retries {
		letter := retry.DeadLetter
		it := Item{
			Message:    events.Message{Subject: letter.Subject, Data: letter.Data},
			Sequence:   letter.Sequence,
			StoredAt:   letter.StoredAt,
			retrySeq:   retry.RetrySeq,
			retryClock: retry.Clock,
		}
		var err error
		if it.Header, err = nats.DecodeHeadersMsg(letter.Header); err != nil {
			it.Reason = "header: " + err.Error()
		}
		items[i] = r.decoded(it)
	}
	return items
}

// decoded is an item with its event, if it is to have one. Those that were dead letters at the first time stay so.
func (r *Reader) decoded(it Item) Item {
	if r.Systems != nil {
		if _, ours := r.Systems[events.SubjectSystem(it.Subject)]; !ours {
			it.skip = true
		}
	}
	if it.skip || it.Reason != "" {
		return it
	}
	var err error
	if it.Event, err = events.Decode(it.Message); err != nil {
		it.Reason = err.Error()
	}
	return it
}

// readable are the items' events.
func readable(items []Item) []events.Event {
	list := make([]events.Event, 0, len(items))
	for _, it := range items {
		if it.Reason == "" && !it.skip {
			list = append(list, it.Event)
		}
	}
	return list
}
