package fault_test

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
	"callboard/projector/feed"
)

// check pauses the load and compares the tables with what the stream gives from its first message on. Projectors
// stop cleanly and start again.
func (h *harness) check(faults int) {
	h.tb.Helper()
	start := time.Now()
	resume := h.load.pause()
	defer resume()
	h.awaitCaughtUp()
	h.verify()
	h.checkStatus()
	letters := h.checkDeadLetters()

	for _, p := range h.projectors {
		p.StopCleanly(syscall.SIGTERM)
		p.Start()
	}
	text := fmt.Sprintf("check after %d faults: %d messages, %d dead letters, %d clock adjustments; took %s", faults,
		h.queryInt("select sum(read)::bigint from projection.message_count"), letters,
		h.queryInt("select count(*) from control.clock_adjustment where not capped"), round(time.Since(start)))
	h.tb.Log(text)
	h.summary.checks = append(h.summary.checks, text)
}

// checkStatus checks that no partition is stopped, and that every message is accounted for.
func (h *harness) checkStatus() {
	h.tb.Helper()
	var report struct {
		Balanced   bool
		Partitions []struct {
			Partition              int
			Missing                int64
			StopReason, StopDetail string
		}
	}
	h.awaitEvents()
	h.command(&report, "status")
	for _, p := range report.Partitions {
		if p.StopReason != "" || p.Missing != 0 {
			h.tb.Errorf("partition %d: messages missing = %d, stop = %s %s, want none", p.Partition, p.Missing, p.StopReason, p.StopDetail)
		}
	}
	if !report.Balanced {
		h.tb.Error("the message accounting is not balanced")
	}
}

// checkDeadLetters checks that each dead letter is a poison message, and the only one of its message. It returns
// how many there are.
func (h *harness) checkDeadLetters() int64 {
	h.tb.Helper()
	letters := h.queryInt("select count(*) from control.dead_letter")
	if n := h.queryInt("select count(distinct (stream, sequence)) from control.dead_letter"); n != letters {
		h.tb.Errorf("messages with a dead letter = %d, want %d, as there are dead letters", n, letters)
	}
	const poisoned = "select count(*) from control.dead_letter where position(convert_to($1, 'UTF8') in header) > 0"
	if n := h.queryInt(poisoned, poisonHeader); n != letters {
		h.tb.Errorf("dead letters of poison messages = %d, want %d, which is all", n, letters)
	}
	return letters
}

// orphanSchemas selects the schemas of generations that no record of a generation refers to.
const orphanSchemas = `
  select nspname::text from pg_namespace where nspname like 'generation\_%'
  except select 'generation_' || id from control.generation where state in ('building', 'previous')`

// checkNothingLeft checks that rebuilds have left no schema, consumer or session. NATS removes the consumer of a
// killed rebuild after a minute: the check waits for that, or only looks at the time limit.
func (h *harness) checkNothingLeft(wait bool) {
	h.tb.Helper()
	rows, _ := h.pool.Query(h.tb.Context(), orphanSchemas)
	schemas, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.tb.Fatal(err)
	}
	if len(schemas) > 0 {
		h.tb.Errorf("schemas left = %v, want none", schemas)
	}
	const inactive = time.Minute
	eventstest.Eventually(h.tb, "the projectors' are the only consumers", func() bool { return h.otherConsumers(wait, inactive) == 0 })
	eventstest.Eventually(h.tb, "no callboard command has a session", func() bool {
		return h.queryInt("select count(*) from pg_stat_activity where application_name like 'callboard@%'") == 0
	})
}

// otherConsumers counts the consumers that are not the projectors': all, or those that NATS doesn't remove after
// a time without activity.
func (h *harness) otherConsumers(all bool, inactive time.Duration) (n int) {
	h.tb.Helper()
	consumers := h.stream().ListConsumers(h.tb.Context())
	for info := range consumers.Info() {
		limited := info.Config.InactiveThreshold > 0 && info.Config.InactiveThreshold <= inactive
		known := strings.HasPrefix(info.Name, feed.ConsumerPrefix)
		if !known && (all || !limited) {
			n++
		}
	}
	if err := consumers.Err(); err != nil {
		h.tb.Fatal(err)
	}
	return n
}
