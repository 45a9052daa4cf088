package fault_test

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/feed"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

// replayDatabase is filled by an undisturbed projector.
const replayDatabase = "replay"

// messagesPerDetail makes checks of long runs shorter: for each such number of messages, one detail more is left out per requested one.
const messagesPerDetail = 20_000

// fewDetails is the check of a short run. All rows of the tables are compared in any case.
const fewDetails = 5

// check pauses the load and compares tables and answers with those of an undisturbed projector, and the tables with a fold of the
// stream in memory. The projectors are stopped meanwhile, because the replay uses their consumers. The final check of a soak
// requests every detail.
func (h *harness) check(faults int, final bool) {
	h.tb.Helper()
	start := time.Now()
	resume := h.load.pause()
	defer resume()
	h.awaitCaughtUp()
	at := time.Now()
	h.awaitWatermarks(h.pool, at)
	for _, p := range h.projectors {
		p.StopCleanly(syscall.SIGTERM)
	}
	h.postgres.createDatabase(replayDatabase)
	defer h.postgres.dropDatabase(replayDatabase)
	h.copyTables("control.clock_adjustment", "control.clock_cap", "control.correction", "control.dead_letter", "control.failed_retry", "access.key")
	h.replay(at)
	tables := schematest.ReadProjection(h.tb, h.postgres.URL(liveDatabase))
	schematest.RequireEqual(h.tb, "live tables, compared with a replay", tables, schematest.ReadProjection(h.tb, h.postgres.URL(replayDatabase)))
	result := h.foldStream()
	h.compareFold(result, tables)
	detailEvery := fewDetails
	if h.soak {
		detailEvery = 1
	}
	if !final {
		detailEvery += result.messages / messagesPerDetail
	}
	answers := h.compareAnswers(at, detailEvery)
	for _, p := range h.projectors {
		p.Start()
	}
	text := fmt.Sprintf("check after %d faults: %d messages, %d dead letters, %d clock adjustments, %d rows, %d answers; took %s",
		faults, result.messages, len(result.poisons), len(result.adjustments), tables.RowCount(), answers, round(time.Since(start)))
	h.tb.Log(text)
	h.summary.checks = append(h.summary.checks, text)
}

// awaitWatermarks waits until every watermark has passed an instant.
func (h *harness) awaitWatermarks(pool *pgxpool.Pool, at time.Time) {
	h.tb.Helper()
	eventstest.Eventually(h.tb, "every watermark is past "+at.String(), func() bool {
		return schematest.QueryOne[int](h.tb, pool, "select count(*) from projection.position where watermark > $1", at) == partitions
	})
}

// copyTables copies to the replay database what a replay doesn't decide again.
func (h *harness) copyTables(tables ...string) {
	h.tb.Helper()
	from, to := h.postgres.connect(liveDatabase), h.postgres.connect(replayDatabase)
	defer closeConn(from)
	defer closeConn(to)
	for _, table := range tables {
		var rows strings.Builder
		_, err := from.PgConn().CopyTo(h.tb.Context(), &rows, "copy "+table+" to stdout")
		if err == nil {
			_, err = to.PgConn().CopyFrom(h.tb.Context(), strings.NewReader(rows.String()), "copy "+table+" from stdin")
		}
		if err != nil {
			h.tb.Fatalf("%s: %v", table, err)
		}
	}
}

// replay projects the stream from its first message to the replay database, until the watermarks have passed an instant.
func (h *harness) replay(at time.Time) {
	h.tb.Helper()
	config, disconnect, err := projectortest.Connect("nats://"+h.nats.address, h.postgres.roleURL(projectorRole, replayDatabase))
	if err != nil {
		h.tb.Fatal(err)
	}
	defer disconnect()
	p, err := projector.New(config)
	if err != nil {
		h.tb.Fatal(err)
	}
	last := h.stream().CachedInfo().State.LastSeq
	stop := eventstest.Run(h.tb, p.Run)
	h.awaitWatermarks(config.Database, at) // which the stream's clock can raise before the last event
	eventstest.Eventually(h.tb, "every partition is at the stream's end", func() bool {
		return schematest.QueryOne[int](h.tb, config.Database, "select count(*) from projection.position where sequence >= $1", last) == partitions
	})
	stop()
}

// orphanSchemas selects the schemas of generations that no record of a generation refers to.
const orphanSchemas = `
  select nspname::text from pg_namespace where nspname like 'generation\_%'
  except select 'generation_' || id from control.generation where state in ('building', 'previous')`

// checkNothingLeft checks that rebuilds have left no schema, consumer or session. NATS removes the consumer of a killed rebuild after
// a minute: the check waits for that, or only looks at the time limit.
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

// otherConsumers counts the consumers that are neither the projectors' nor the check's: all, or those that NATS doesn't remove after
// a time without activity.
func (h *harness) otherConsumers(all bool, inactive time.Duration) (n int) {
	h.tb.Helper()
	consumers := h.stream().ListConsumers(h.tb.Context())
	for info := range consumers.Info() {
		limited := info.Config.InactiveThreshold > 0 && info.Config.InactiveThreshold <= inactive
		known := strings.HasPrefix(info.Name, feed.ConsumerPrefix) || strings.HasPrefix(info.Name, foldConsumer)
		if !known && (all || !limited) {
			n++
		}
	}
	if err := consumers.Err(); err != nil {
		h.tb.Fatal(err)
	}
	return n
}
