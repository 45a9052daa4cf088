package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
)

// A batch uses indexes, whatever size the planner takes a table for, and its statements are neither compiled nor planned each time.
func TestStore_ReadsNoTableWhole(t *testing.T) {
	t.Parallel()
	_, _, pool := openStore(t)
	config := pool.Config()
	config.MaxConns = 1 // its statistics are flushed below
	single, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(single.Close)
	s := store.New(single)
	full := foldtest.FullHistory()
	position := applyBatch(t, s, claim(t, s), full)
	position = applyBatch(t, s, position, full)
	deletions := make([]foldtest.TimedEvent, len(full))
	for i, e := range full {
		e.Version += 10
		deletions[i] = foldtest.TimedEvent{Event: events.Deleted(e.Identity), At: e.At}
	}
	applyBatch(t, s, position, deletions)

	for setting, want := range map[string]string{"enable_seqscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan"} {
		var got string
		if err := single.QueryRow(t.Context(), "select current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", setting, got, err, want)
		}
	}
	if _, err := single.Exec(t.Context(), "select pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	rows, err := single.Query(t.Context(),
		"select relname::text from pg_stat_user_tables where schemaname = 'projection' and relname <> 'generation' and seq_scan > 0 order by relname")
	if err != nil {
		t.Fatal(err)
	}
	scanned, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(scanned) > 0 {
		t.Errorf("tables with sequential scans = %v, %v, want none", scanned, err)
	}
}
