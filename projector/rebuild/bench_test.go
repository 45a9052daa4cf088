package rebuild_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"callboard/projector/rebuild"
	"callboard/projector/store"
	"callboard/schema"
)

// BenchmarkRun compares a rebuild and a verification with copying and indexing the same rows alone.
func BenchmarkRun(b *testing.B) {
	h := newHarness(b)
	h.Publish(sampleEvents(7, 40_000)...)
	for b.Loop() {
		start := time.Now()
		result, err := rebuild.Run(b.Context(), h.config(), false)
		if err != nil {
			b.Fatal(err)
		}
		rebuilt := time.Since(start)
		start = time.Now()
		if c, err := rebuild.Verify(b.Context(), h.config()); err != nil || c.Differs() {
			b.Fatalf("%+v, %v", c, err)
		}
		verified := time.Since(start)
		bare := h.copyAndIndex()
		b.Logf("fold %.1f s, index %.1f s, compare %.1f s, of %d events", result.Fold, result.Index, result.Compare, result.Messages)
		b.ReportMetric(float64(result.Messages)/rebuilt.Seconds(), "events/s")
		b.ReportMetric(float64(result.Rows)/rebuilt.Seconds(), "rows/s")
		b.ReportMetric(float64(result.Rows)/bare.Seconds(), "bare-rows/s")
		b.ReportMetric(rebuilt.Seconds()/bare.Seconds(), "times-bare")
		b.ReportMetric(verified.Seconds()/rebuilt.Seconds(), "verify/rebuild")
	}
	b.ReportMetric(0, "ns/op")
}

// copyAndIndex returns the time to copy the live rows into empty tables, two tables at a time, and to index them.
func (h *harness) copyAndIndex() time.Duration {
	h.Helper()
	ctx := h.Context()
	conn, err := pgx.Connect(ctx, h.Database.URL())
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var g schema.Generation
	var indexes []string
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
		if g, err = schema.NewGeneration(ctx, tx, 0); err != nil {
			return err
		}
		return g.DropIndexes(ctx, tx)
	})
	if err == nil {
		indexes, err = g.MissingIndexes(ctx, conn)
	}
	rows := make(map[string]*bytes.Buffer)
	for _, table := range store.Tables() {
		rows[table] = new(bytes.Buffer)
		if err == nil {
			_, err = conn.PgConn().CopyTo(ctx, rows[table], "copy projection."+table+" to stdout (format binary)")
		}
	}
	if err != nil {
		h.Fatal(err)
	}
	run := func(list []func(*pgx.Conn) error) {
		var group errgroup.Group
		group.SetLimit(2)
		for _, work := range list {
			group.Go(func() error {
				conn, err := pgx.Connect(ctx, h.Database.URL())
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close(ctx) }()
				if _, err := conn.Exec(ctx, "set maintenance_work_mem = '256MB'; set search_path to "+g.Schema()); err != nil {
					return err
				}
				return work(conn)
			})
		}
		if err := group.Wait(); err != nil {
			h.Fatal(err)
		}
	}
	start := time.Now()
	var copies, statements []func(*pgx.Conn) error
	for table, data := range rows {
		copies = append(copies, func(conn *pgx.Conn) error {
			_, err := conn.PgConn().CopyFrom(ctx, data, "copy "+table+" from stdin (format binary)")
			return err
		})
		statements = append(statements, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "vacuum (analyze) "+table)
			return err
		})
	}
	run(copies)
	for _, statement := range indexes {
		copies[0] = func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, statement)
			return err
		}
		statements = append(statements, copies[0])
	}
	run(statements[len(rows):])
	run(statements[:len(rows)])
	took := time.Since(start)
	if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return g.Drop(ctx, tx) }); err != nil {
		h.Fatal(err)
	}
	return took
}
