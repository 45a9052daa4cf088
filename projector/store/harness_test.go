package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/projector/fold"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.CheckCases(30)
	schematest.Run(m)
}

// failer is the part of [testing.T] that [rapid.T] has, too.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func stream() uuid.UUID { return uuid.MustParse("00000000-0000-4000-8000-00000000000a") }

// openStore opens a store on a new database, as callboard_projector.
func openStore(tb testing.TB) (*store.Store, *schematest.Database, *pgxpool.Pool) {
	tb.Helper()
	database := schematest.New(tb)
	pool := database.ProjectorPool(tb)
	return store.New(pool), database, pool
}

// connect opens a connection as callboard_projector with a schema on its search path.
func connect(tb testing.TB, database *schematest.Database, schema string) *pgx.Conn {
	tb.Helper()
	config, err := pgx.ParseConfig(database.RoleURL("callboard_projector"))
	if err != nil {
		tb.Fatal(err)
	}
	config.RuntimeParams["search_path"] = schema
	conn, err := pgx.ConnectConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func claim(t failer, s *store.Store) store.Position {
	t.Helper()
	position, err := s.Claim(context.Background(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	return position
}

// write writes a change set in one transaction.
func write(t failer, s *store.Store, changes store.ChangeSet) {
	t.Helper()
	err := s.BeginFunc(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Write(context.Background(), changes)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// timedEvent is an event and the partition's clock at it.
type timedEvent struct {
	events.Event
	At events.Time
}

// id returns the UUID that tests name by a number.
func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// applyBatch folds a batch and writes it, and returns the position after it.
func applyBatch(t failer, s *store.Store, from store.Position, batch []timedEvent) store.Position {
	t.Helper()
	changes := store.ChangeSet{From: from, To: from}
	changes.To.Sequence += uint64(len(batch))
	err := s.BeginFunc(context.Background(), func(tx *store.Tx) (err error) {
		if changes.State, err = tx.Load(context.Background(), from.Partition, eventsOf(batch), false); err != nil {
			return err
		}
		foldInto(changes.State, batch)
		_, err = tx.Write(context.Background(), changes)
		return err
	})
	if err != nil {
		t.Fatalf("batch: %v", err)
	}
	return changes.To
}

func eventsOf(batch []timedEvent) []events.Event {
	list := make([]events.Event, len(batch))
	for i, e := range batch {
		list[i] = e.Event
	}
	return list
}

// foldInto folds a history. An event that contradicts the state changes nothing; the projector would record a dead
// letter.
func foldInto(state *fold.State, history []timedEvent) {
	for _, e := range history {
		_, _ = state.Apply(e.Event, e.At)
	}
}

// timed gives the events of a company times, a millisecond apart.
func timed(company *sample.Company, at events.Time) []timedEvent {
	var history []timedEvent
	for e := range company.Directory() {
		at++
		history = append(history, timedEvent{Event: e, At: at})
	}
	for e := range company.History() {
		at++
		history = append(history, timedEvent{Event: e, At: at})
	}
	return history
}

func exec(tb testing.TB, database *schematest.Database, sql string) {
	tb.Helper()
	if _, err := database.Pool(tb).Exec(tb.Context(), sql); err != nil {
		tb.Fatal(err)
	}
}
