package audit

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/audit"
	"callboard/projector/store"
)

// delivery is a message with its decoded entries.
type delivery struct {
	jetstream.Msg
	meta    *jetstream.MsgMetadata
	entries []audit.Entry
	reason  string // why it becomes a dead letter; empty if all entries are stored
}

// entry is an entry and the delivery that it belongs to.
type entry struct {
	audit.Entry
	delivery *delivery
}

func decode(messages []jetstream.Msg) ([]delivery, error) {
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
		deliveries[i].removeImplausibleTimes()
	}
	return deliveries, nil
}

// The range of an entry's time around the time at which the stream stored its message. An entry waits in its reader while NATS is
// unavailable, and the reader's clock may be wrong.
const (
	maxBefore = 7 * 24 * time.Hour
	maxAfter  = 24 * time.Hour
)

// removeImplausibleTimes removes entries with a time outside the range. Every day of an entry becomes a table, so a message must not be
// able to create thousands of them.
func (d *delivery) removeImplausibleTimes() {
	d.entries = slices.DeleteFunc(d.entries, func(e audit.Entry) bool {
		offset := e.At.Sub(d.meta.Timestamp)
		if offset >= -maxBefore && offset <= maxAfter {
			return false
		}
		d.reason = fmt.Sprintf("entry %s: its time is more than %s before or %s after that of its message", e.ID, maxBefore, maxAfter)
		return true
	})
}

// batchEntries is the largest number of entries in a transaction, unless a single message has more. Larger transactions are not faster.
const batchEntries = 5000

// batchLength returns how many of the deliveries, at least one, are stored in one transaction.
func batchLength(deliveries []delivery) int {
	count := 0
	for i, d := range deliveries {
		if count += len(d.entries); count > batchEntries && i > 0 {
			return i
		}
	}
	return len(deliveries)
}

func entriesOf(deliveries []delivery) []entry {
	var list []entry
	for i := range deliveries {
		for _, e := range deliveries[i].entries {
			list = append(list, entry{e, &deliveries[i]})
		}
	}
	return list
}

// settle acknowledges the deliveries whose entries are all stored. The others become dead letters.
func (s *session) settle(ctx context.Context, deliveries []delivery) error {
	for _, d := range deliveries {
		end := d.Ack
		if d.reason != "" {
			if err := s.insertDeadLetter(ctx, d); err != nil {
				return err
			}
			end = func() error { return d.TermWithReason(d.reason) }
		}
		if err := end(); err != nil {
			// The message is delivered again, and its entries or its dead letter are found stored.
			s.config.Log.Debug().Err(err).Msg("acknowledging an audit message failed")
		}
	}
	return nil
}

//go:embed insert_dead_letter.sql
var insertDeadLetterSQL string

func (s *session) insertDeadLetter(ctx context.Context, d delivery) error {
	if _, err := s.config.Database.Exec(ctx, insertDeadLetterSQL, d.meta.Stream, s.created, int64(d.meta.Sequence.Stream),
		d.Subject(), store.EncodeHeader(d.Headers()), d.Data(), d.reason, d.meta.Timestamp); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	s.metrics.deadLetters.Inc()
	s.config.Log.Error().Uint64("sequence", d.meta.Sequence.Stream).Str("reason", d.reason).Msg("audit message became a dead letter")
	return nil
}
