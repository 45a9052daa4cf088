package fault_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events/eventstest"
	"callboard/projector/feed"
	"callboard/schema/schematest"
)

// check pauses the load and lets 'callboard verify' compare the projection with another one that it builds from the
// stream's first message. It checks that every message is accounted for, and that the poison messages are dead letters.
func (h *harness) check(faults int) {
	h.tb.Helper()
	start := time.Now()
	resume := h.load.pause()
	defer resume()
	h.awaitCaughtUp()
	h.awaitEvents()
	h.verify()
	letters := h.checkDeadLetters()
	const unaccounted = "select count(*) from projection.message_count where read <> applied + stale + ignored + dead"
	if n := h.queryInt(unaccounted); n > 0 {
		h.tb.Errorf("counts of messages that do not add up = %d, want 0", n)
	}
	text := fmt.Sprintf("check after %d faults: %d messages, %d dead letters, %d clock adjustments; took %s", faults,
		h.stream().CachedInfo().State.Msgs, letters, h.queryInt("select count(*) from control.clock_adjustment"),
		round(time.Since(start)))
	h.tb.Log(text)
	h.summary.checks = append(h.summary.checks, text)
}

// checkConsumer is the prefix of the name of the check's own consumers.
const checkConsumer = "check"

// checkDeadLetters checks that every poison message is a dead letter, once, and that no other message is. It returns
// their number.
func (h *harness) checkDeadLetters() int {
	h.tb.Helper()
	poisons := map[uint64]string{} // the kinds, by sequence
	h.eachMessage(func(m jetstream.Msg, sequence uint64) {
		if kind := m.Headers().Get(poisonHeader); kind != "" {
			poisons[sequence] = kind
		}
	})
	letters := map[uint64]string{} // the reasons
	rows, _ := h.pool.Query(h.tb.Context(), "select sequence, reason from control.dead_letter where stream = $1",
		h.streamID())
	var sequence int64
	var reason string
	_, err := pgx.ForEachRow(rows, []any{&sequence, &reason}, func() error {
		if letters[uint64(sequence)] != "" || poisons[uint64(sequence)] == "" {
			h.tb.Errorf("message %d is a dead letter: %s; want that of poison messages only, and once", sequence, reason)
		}
		letters[uint64(sequence)] = reason
		return nil
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	for sequence, kind := range poisons {
		if letters[sequence] == "" {
			h.tb.Errorf("message %d (%s) has no dead letter", sequence, kind)
		}
	}
	return len(letters)
}

// eachMessage calls do with the headers of each message that the stream has now. None is ever deleted.
func (h *harness) eachMessage(do func(m jetstream.Msg, sequence uint64)) {
	h.tb.Helper()
	stream := h.stream()
	var consumer jetstream.Consumer
	eventstest.Eventually(h.tb, "NATS creates a consumer", func() (ok bool) {
		var err error
		consumer, err = stream.OrderedConsumer(h.tb.Context(), jetstream.OrderedConsumerConfig{
			NamePrefix: checkConsumer, HeadersOnly: true,
		})
		return err == nil
	})
	messages, err := consumer.Messages()
	if err != nil {
		h.tb.Fatal(err)
	}
	defer messages.Stop()
	for sequence := range stream.CachedInfo().State.LastSeq {
		m, err := messages.Next(jetstream.NextMaxWait(time.Minute))
		if err != nil {
			h.tb.Fatal(err)
		}
		do(m, sequence+1)
	}
}

// awaitWatermarks waits until every watermark has passed an instant.
func (h *harness) awaitWatermarks(pool *pgxpool.Pool, at time.Time) {
	h.tb.Helper()
	const passed = "select count(*) from projection.position where watermark > $1"
	eventstest.Eventually(h.tb, "every watermark is past "+at.String(), func() bool {
		return schematest.QueryOne[int](h.tb, pool, passed, at) == partitions
	})
}

// orphanSchemas selects the schemas of generations that no record of a generation refers to.
const orphanSchemas = `
  select nspname::text from pg_namespace where nspname like 'generation\_%'
  except select 'generation_' || id from control.generation where state in ('building', 'previous')`

// checkNothingLeft checks that rebuilds have left no schema, consumer or session. NATS removes the consumer of a killed
// rebuild after a minute: the check waits for that, or only looks at the time limit.
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
	eventstest.Eventually(h.tb, "the projectors' are the only consumers", func() bool {
		return h.otherConsumers(wait, inactive) == 0
	})
	eventstest.Eventually(h.tb, "no callboard command has a session", func() bool {
		return h.queryInt("select count(*) from pg_stat_activity where application_name like 'callboard@%'") == 0
	})
}

// otherConsumers counts the consumers that are neither the projectors' nor the check's: all, or those that NATS doesn't
// remove after a time without activity.
func (h *harness) otherConsumers(all bool, inactive time.Duration) (n int) {
	h.tb.Helper()
	consumers := h.stream().ListConsumers(h.tb.Context())
	for info := range consumers.Info() {
		limited := info.Config.InactiveThreshold > 0 && info.Config.InactiveThreshold <= inactive
		known := strings.HasPrefix(info.Name, feed.ConsumerPrefix) || strings.HasPrefix(info.Name, checkConsumer)
		if !known && (all || !limited) {
			n++
		}
	}
	if err := consumers.Err(); err != nil {
		h.tb.Fatal(err)
	}
	return n
}
