package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// delivery is a message with its decoded entries.
type delivery struct {
	jetstream.Msg
	meta    *jetstream.MsgMetadata
	entries []events.AuditEntry
	reason  string // why it becomes a dead letter; empty if all entries are stored
}

// entry is an entry and the delivery that it belongs to.
type entry struct {
	events.AuditEntry
	delivery *delivery
}

func decode(messages []jetstream.Msg) ([]delivery, error) {
	deliveries := make([]delivery, len(messages))
	for i, m := range messages {
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("delivery: %w", err)
		}

		// A message that cannot be decoded becomes a dead letter, and stops no other message.
		deliveries[i] = delivery{Msg: m, meta: meta}
		if copied := events.ServerHeader(m.Headers()); copied != "" {
			deliveries[i].reason = "audit message: it is a copy of a message, with the header " + copied
		} else if deliveries[i].entries, err = events.DecodeAudit(m.Data()); err != nil {
			deliveries[i].reason = err.Error()
		}

		deliveries[i].removeImplausibleTimes()
	}
	return deliveries, nil
}

// The range of an entry's time around the time at which the stream stored its message. An entry waits in its reader
// while NATS is unavailable, and the reader's clock may be wrong.
const (
	maxBefore = 7 * 24 * time.Hour
	maxAfter  = 24 * time.Hour
)

// removeImplausibleTimes removes entries with a time outside the range. Every day of an entry becomes a table, so a
// message must not be able to create thousands of them.
func (d *delivery) removeImplausibleTimes() {
	d.entries = slices.DeleteFunc(d.entries, func(e events.AuditEntry) bool {
		offset := e.At.Sub(d.meta.Timestamp)
		if offset >= -maxBefore && offset <= maxAfter {
			return false
		}
		d.reason = fmt.Sprintf("entry %s: its time is more than %s before or %s after that of its message", e.ID, maxBefore,
			maxAfter)
		return true
	})
}

// batchEntries is the largest number of entries in a transaction, unless a single message has more. Larger
// transactions are not faster.
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
