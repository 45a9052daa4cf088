package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
)

// delivery is one message in hand.
type delivery struct {
	jetstream.Msg
	meta    *jetstream.MsgMetadata
	entries []audit.Entry
	reason  string // why not all of it could be filed; empty: filed
}

// entry is one entry and the message that brought it.
type entry struct {
	audit.Entry
	of *delivery
}

func read(messages []jetstream.Msg) ([]delivery, error) {
	deliveries := make([]delivery, len(messages))
	for i, m := range messages {
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("delivery: %w", err)
		}
		deliveries[i] = delivery{Msg: m, meta: meta}
		if deliveries[i].entries, err = audit.Decode(m.Data()); err != nil {
			deliveries[i].reason = err.Error()
		}
		deliveries[i].keepTimely()
	}
	return deliveries, nil
}

// How far an entry's time may lie from the moment that the stream took its message. An entry waits in its reader for as long as
// NATS is away, and a reader's clock may be wrong.
const (
	maxWait  = 7 * 24 * time.Hour
	maxAhead = 24 * time.Hour
)

// keepTimely leaves out the entries of any other time, and notes it. Each day that is filed takes a table, so what a message claims
// must not make them by the thousand.
func (d *delivery) keepTimely() {
	d.entries = slices.DeleteFunc(d.entries, func(e audit.Entry) bool {
		ahead := e.At.Sub(d.meta.Timestamp)
		if ahead >= -maxWait && ahead <= maxAhead {
			return false
		}
		d.reason = fmt.Sprintf("entry %s: its time is more than %s before that of its message, or %s after", e.ID, maxWait, maxAhead)
		return true
	})
}

// portionEntries is how many entries one transaction files at most, if it isn't one message alone. Larger ones are no faster.
const portionEntries = 5000

// fitting is how many of the deliveries, at least one, are filed together.
func fitting(deliveries []delivery) int {
	count := 0
	for i, d := range deliveries {
		if count += len(d.entries); count > portionEntries && i > 0 {
			return i
		}
	}
	return len(deliveries)
}

// entries are those of all deliveries.
func entries(deliveries []delivery) []entry {
	var list []entry
	for i := range deliveries {
		for _, e := range deliveries[i].entries {
			list = append(list, entry{e, &deliveries[i]})
		}
	}
	return list
}

// settle acknowledges what is filed and sets the rest aside.
func (s *session) settle(ctx context.Context, deliveries []delivery) error {
	for _, d := range deliveries {
		end := d.Ack
		if d.reason != "" {
			if err := s.setAside(ctx, d); err != nil {
				return err
			}
			end = func() error { return d.TermWithReason(d.reason) }
		}
		if err := end(); err != nil {
			// It is delivered again and found filed, or set aside.
			s.config.Log.Debug().Err(err).Msg("acknowledge")
		}
	}
	return nil
}
