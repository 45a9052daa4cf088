package intake

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/store"
)

// Item is one message: an event, or the reason why it is none.
type Item struct {
	events.Message
	Sequence uint64
	Stored   time.Time
	Event    events.Event
	Reason   string // of a dead letter; empty: the event can be applied

	turn  int64 // of a dead letter that is tried again; 0: a message in its place
	clock events.Time
}

// Read decodes messages. Those that were dead letters at the first time stay so.
func Read(messages []jetstream.Msg, record store.Record) ([]Item, error) {
	items := make([]Item, len(messages))
	for i, m := range messages {
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("delivery: %w", err)
		}
		items[i] = Item{
			Message:  events.Message{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()},
			Sequence: meta.Sequence.Stream,
			Stored:   meta.Timestamp,
		}
		if items[i].Reason = record.Letters[meta.Sequence.Stream]; items[i].Reason == "" {
			items[i].decode()
		}
	}
	return items, nil
}

// Again is dead letters that are to be tried again.
func Again(retries []store.Retry) []Item {
	items := make([]Item, len(retries))
	for i, r := range retries {
		header, err := nats.DecodeHeadersMsg(r.Letter.Header)
		items[i] = Item{
			Message:  events.Message{Subject: r.Letter.Subject, Header: header, Data: r.Letter.Data},
			Sequence: r.Letter.Sequence,
			Stored:   r.Letter.StoredAt,
			turn:     r.Turn,
			clock:    r.Clock,
		}
		if items[i].decode(); err != nil {
			items[i].Reason = "header: " + err.Error()
		}
	}
	return items
}

// Weave puts recorded retries among the items, each behind the messages up to its position, and takes them off the record. What belongs
// behind upTo, where the items end, stays there.
func Weave(items []Item, upTo uint64, record *store.Record) []Item {
	if len(record.Retries) == 0 {
		return items
	}
	var woven []Item
	for _, it := range items {
		woven = append(append(woven, due(record, it.Sequence-1)...), it)
	}
	return append(woven, due(record, upTo)...)
}

func due(record *store.Record, upTo uint64) []Item {
	n := slices.IndexFunc(record.Retries, func(r store.Retry) bool { return r.Position > upTo })
	if n < 0 {
		n = len(record.Retries)
	}
	items := Again(record.Retries[:n])
	record.Retries = record.Retries[n:]
	return items
}

func (it *Item) decode() {
	var err error
	if it.Event, err = events.Decode(it.Message); err != nil {
		it.Reason = err.Error()
	}
}

// Readable are the items' events.
func Readable(items []Item) []events.Event {
	list := make([]events.Event, 0, len(items))
	for _, it := range items {
		if it.Reason == "" {
			list = append(list, it.Event)
		}
	}
	return list
}
