package store_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// A batch uses indexes, whatever size the planner takes a table for, and its statements are neither compiled nor
// planned each time.
func TestStore_ReadsNoTableWhole(t *testing.T) {
	schematest.NeedOneServer(t, "its plans are one server's")
	t.Parallel()
	_, _, pool := openStore(t)
	single := limited(t, pool, 1)
	s := store.New(single)
	full := fullHistory()
	position := applyBatch(t, s, claim(t, s), full)
	position = applyBatch(t, s, position, full)
	deletions := make([]timedEvent, len(full))
	for i, e := range full {
		e.Version += 10
		deletions[i] = timedEvent{Event: events.Deleted(e.Identity), At: e.At}
	}
	applyBatch(t, s, position, deletions)

	for setting, want := range map[string]string{"enable_seqscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan"} {
		var got string
		if err := single.QueryRow(t.Context(), "select current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", setting, got, err, want)
		}
	}
	flushStatistics(t, single)
	scanned := queryRows(t, single, pgx.RowTo[string],
		"select relname::text from pg_stat_user_tables where schemaname = 'projection' and relname <> 'generation' and seq_scan > 0 order by relname")
	if len(scanned) > 0 {
		t.Errorf("tables with sequential scans = %v, want none", scanned)
	}
}

// A batch finds each row that it loads by the row's whole key, although the first batches were planned on empty
// tables and nothing analyzes them. The calls come before what belongs to them, so that some tables are still empty
// when others are large, and one of two connections is idle while the calls are written.
func TestStore_ReadsRowsByWholeKeys(t *testing.T) {
	schematest.NeedOneServer(t, "its plans are one server's")
	t.Parallel()
	const calls, batchSize, first, most = 6000, 2000, 30, 3
	_, database, pool := openStore(t)
	exec(t, database, `
		do $$
		declare name regclass;
		begin
		  for name in select oid from pg_class where relnamespace = 'projection'::regnamespace and relkind = 'r' loop
		    execute format('alter table %s set (autovacuum_enabled = off)', name);
		  end loop;
		end $$`)
	pool = limited(t, pool, 2)
	s := store.New(pool)
	position := claim(t, s)
	apply := func(history []timedEvent) {
		for batch := range slices.Chunk(history, batchSize) {
			position = applyBatch(t, s, position, batch)
		}
	}
	idle := acquire(t, pool)
	changeConnection := func() {
		busy := acquire(t, pool)
		idle.Release()
		idle = busy
	}
	history := timed(sample.New(sample.Config{Seed: 1, Systems: 1, Calls: calls}), events.Time(1_700_000_000_000))
	ofCalls, others := divide(history, func(e timedEvent) bool { return e.Entity == events.EntityCall })
	apply(others[:first])
	changeConnection()
	apply(others[len(others)-first:])
	apply(ofCalls)
	half := len(others) / 2
	apply(others[:half])
	changeConnection()
	apply(others[half:])
	idle.Release()

	flushStatistics(t, pool)
	type index struct {
		Name        string
		Scans, Read int64
	}
	indexes := queryRows(t, pool, pgx.RowToStructByPos[index], `
		select indexrelname::text, idx_scan, idx_tup_read from pg_stat_user_indexes
		where schemaname = 'projection' and idx_scan > 0 order by indexrelname`)
	for _, i := range indexes {
		if read := float64(i.Read) / float64(i.Scans); read > most {
			t.Errorf("%s: entries read in each of %d scans = %.1f, want at most %d", i.Name, i.Scans, read, most)
		}
	}
	if len(indexes) < 20 {
		t.Errorf("indexes with scans = %d, want at least 20", len(indexes))
	}
}

// limited returns another pool with the settings of one, and a number of connections at most.
func limited(t *testing.T, pool *pgxpool.Pool, connections int32) *pgxpool.Pool {
	t.Helper()
	return schematest.OpenPoolLike(t, pool, func(c *pgxpool.Config) { c.MaxConns = connections })
}

func acquire(t *testing.T, pool *pgxpool.Pool) *pgxpool.Conn {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// flushStatistics makes PostgreSQL publish what it has counted in the pool's connections, of which none is in use.
func flushStatistics(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for _, conn := range pool.AcquireAllIdle(t.Context()) {
		_, err := conn.Exec(t.Context(), "select pg_stat_force_next_flush()")
		conn.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func queryRows[T any](t *testing.T, pool *pgxpool.Pool, row pgx.RowToFunc[T], sql string) []T {
	t.Helper()
	rows, _ := pool.Query(t.Context(), sql)
	list, err := pgx.CollectRows(rows, row)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// divide returns the events of a history that are of a kind, and the others.
func divide(history []timedEvent, of func(timedEvent) bool) (some, others []timedEvent) {
	for _, e := range history {
		if of(e) {
			some = append(some, e)
		} else {
			others = append(others, e)
		}
	}
	return some, others
}
