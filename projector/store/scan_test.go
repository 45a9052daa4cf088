package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
)

// No batch reads a table whole, whatever the planner thinks of its size.
func TestStore_ReadsNoTableWhole(t *testing.T) {
	_, _, pool := open(t)
	config := pool.Config()
	config.MaxConns = 1 // whose counters are flushed below
	single, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(single.Close)
	s := store.New(single)
	position, err := s.Claim(t.Context(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	full := foldtest.FullHistory()
	position = commit(t, s, position, full)
	position = commit(t, s, position, full)
	ends := make([]foldtest.TimedEvent, len(full))
	for i, e := range full {
		e.Version += 10
		ends[i] = foldtest.TimedEvent{Event: events.Deleted(e.Identity), At: e.At}
	}
	commit(t, s, position, ends)

	if _, err := single.Exec(t.Context(), "select pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	rows, err := single.Query(t.Context(),
		"select relname::text from pg_stat_user_tables where schemaname = 'projection' and relname <> 'generation' and seq_scan > 0 order by relname")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(whole) > 0 {
		t.Errorf("read whole: %v, %v", whole, err)
	}
}
