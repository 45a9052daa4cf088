package store_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/events/sample"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

// connect is a connection under the projector's role that finds a schema on its search path.
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
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// folded is a history folded in memory, from nothing.
func folded(history []foldtest.TimedEvent) *fold.State {
	state := &fold.State{Partition: 3}
	for _, e := range history {
		_, _ = state.Fold(e.Event, e.At) // what contradicts changes nothing
	}
	return state
}

// company is the history of a simulated phone company, folded in memory.
func company(systems, calls int) *fold.State {
	state := new(fold.State)
	c := sample.New(sample.Config{Seed: 1, Systems: systems, Calls: calls})
	at := events.Time(1_700_000_000_000)
	for e := range c.Directory() {
		_, _ = state.Fold(e, at)
	}
	for e := range c.History() {
		at++
		_, _ = state.Fold(e, at)
	}
	return state
}

func fill(t failer, conn *pgx.Conn, state *fold.State) int64 {
	t.Helper()
	rows, err := store.CopyState(context.Background(), conn, state)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// mustFillAsCommitted checks that filling gives the tables that committing the same history gives.
func mustFillAsCommitted(t failer, committed, filled schematest.Tables, rows int64) {
	t.Helper()
	delete(committed, "message_count") // is of messages, not of rows
	delete(filled, "message_count")
	if list := committed.Diff(filled); len(list) > 0 {
		t.Fatalf("committed (here) and filled (there) differ:\n%s", strings.Join(list, "\n"))
	}
	if int64(filled.RowCount()) != rows {
		t.Fatalf("%d rows filled, said to be %d", filled.RowCount(), rows)
	}
}

func TestFill_WritesWhatCommitsWrite(t *testing.T) {
	s, committed, _ := open(t)
	position, err := s.Claim(t.Context(), stream(), 3)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, position, foldtest.FullHistory())
	filled := schematest.New(t)
	rows := fill(t, connect(t, filled, "projection"), folded(foldtest.FullHistory()))
	mustFillAsCommitted(t, committed.Projection(t), filled.Projection(t), rows)
}

// Of any history, committed in any batches, what is stored is what is folded, and filling stores the same.
func TestFill_WritesWhatCommitsWriteOfAnyHistory(t *testing.T) {
	s, committed, _ := open(t)
	reading := connect(t, committed, "projection")
	filled := schematest.New(t)
	conn := connect(t, filled, "projection")
	rapid.Check(t, func(r *rapid.T) {
		committed.TruncateProjection(t)
		filled.TruncateProjection(t)
		history := foldtest.RandomHistory(r)
		position, err := s.Claim(context.Background(), stream(), 3)
		if err != nil {
			r.Fatal(err)
		}
		for rest := history; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "batch")
			position = commit(r, s, position, rest[:n])
			rest = rest[n:]
		}
		mustStore(r, reading, folded(history), everyone())
		rows := fill(r, conn, folded(history))
		mustFillAsCommitted(r, committed.Projection(t), filled.Projection(t), rows)
	})
}

func TestFill_RowsLieAsTheyAreRead(t *testing.T) {
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	fill(t, conn, company(3, 200))
	for _, test := range []struct{ table, order string }{
		{"call_log", "system_id, created_at, id"},
		{"recording", "system_id, created_at, recording_sid collate \"C\""},
		{"analysis", "system_id, created_at, id"},
		{"voicemail", "system_id, created_at, id"},
		{"extension", "system_id, created_at, id"},
		{"extension_call", "system_id, extension_id, created_at, call_id"},
		{"transcript_text", `system_id, (
			select created_at from call_log where system_id = t.system_id and id = t.owner_id and t.owner = 'call'
			union all
			select created_at from voicemail where system_id = t.system_id and id = t.owner_id and t.owner = 'voicemail'
		), owner_id`},
		{"day_count", "system_id, list collate \"C\", subset collate \"C\", day"},
	} {
		var rows, back int
		err := conn.QueryRow(t.Context(), `
			select count(*), count(*) filter (where back)
			from (
				select belongs < lag(belongs) over (order by lies) as back
				from (select ctid as lies, row_number() over (order by `+test.order+`) as belongs from `+test.table+` as t) as placed
			) as steps`).Scan(&rows, &back)
		// PostgreSQL puts a row that comes later into a gap that it left.
		if err != nil || rows < 2 || back > rows/10 {
			t.Errorf("%s: %d of %d rows belong before the one that they lie behind, %v", test.table, back, rows, err)
		}
	}
}

func TestFill_TakesTheSchemaOnTheSearchPath(t *testing.T) {
	database := schematest.New(t)
	pool := database.Pool(t)
	if _, err := pool.Exec(t.Context(), "alter schema projection rename to generation_7"); err != nil {
		t.Fatal(err)
	}
	rows := fill(t, connect(t, database, "generation_7"), folded(foldtest.FullHistory()))
	conn := connect(t, database, "projection")
	s := shape(t, conn, "generation_7")
	if stored := described(t, store.StoredRows(t.Context(), conn, s, store.Tables(), everyone())); rows == 0 || len(stored) != int(rows) {
		t.Errorf("%d rows filled, %d stored", rows, len(stored))
	}
	if systems, err := store.PhoneSystemIDs(t.Context(), conn, s); err != nil || len(systems) != 2 {
		t.Errorf("systems %v, %v", systems, err)
	}
}

// What can't be filled leaves nothing, and the connection as it was.
func TestFill_Refuses(t *testing.T) {
	voicemail := func(change func(*events.Voicemail)) *fold.State {
		v := &events.Voicemail{ID: foldtest.ID(40), PhoneSystemID: foldtest.ID(1), Version: 1}
		change(v)
		return folded([]foldtest.TimedEvent{{Event: events.Changed(v)}})
	}
	for _, test := range []struct {
		name    string
		change  func(*events.Voicemail)
		refused func(error) bool
	}{
		{"an integer above its column's", func(v *events.Voicemail) { v.Duration = math.MaxInt32 + 1 },
			func(err error) bool {
				return errors.Is(err, store.ErrRange) && strings.Contains(err.Error(), "voicemail.duration")
			}},
		{"an integer below its column's", func(v *events.Voicemail) { v.Duration = math.MinInt32 - 1 },
			func(err error) bool { return errors.Is(err, store.ErrRange) }},
		{"a NUL", func(v *events.Voicemail) { v.CallSid = "CA\x00" }, store.IsDataError},
		{"the greatest integer", func(v *events.Voicemail) { v.Duration = math.MaxInt32 }, func(err error) bool { return err == nil }},
		{"the least integer", func(v *events.Voicemail) { v.Duration = math.MinInt32 }, func(err error) bool { return err == nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, schematest.New(t), "projection")
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.CopyState(t.Context(), tx.Conn(), voicemail(test.change)); !test.refused(err) {
				t.Errorf("filled: %v", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
			var rows int
			if err := conn.QueryRow(t.Context(), "select count(*) from day_count").Scan(&rows); err != nil || rows != 0 {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

func TestFill_ATableCutOffByTheServerEndsIt(t *testing.T) {
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	if _, err := database.Pool(t).Exec(t.Context(), `
		create function cut() returns trigger language plpgsql as
			$$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
		create trigger cut before insert on projection.call_log for each row execute function cut();
		alter function cut() security definer`); err != nil {
		t.Fatal(err)
	}
	if _, err := store.CopyState(t.Context(), conn, company(1, 2000)); err == nil {
		t.Error("filled")
	}
}

func TestFill_NeedsEveryColumn(t *testing.T) {
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	if _, err := database.Pool(t).Exec(t.Context(), "alter table projection.call_log drop column tags"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.CopyState(t.Context(), conn, new(fold.State)); err == nil || !strings.Contains(err.Error(), "call_log.tags") {
		t.Errorf("filled: %v", err)
	}
}

// Every table and column of the schema is filled; coverage, positions and the generation's name aren't of rows.
func TestTables_AreTheSchemas(t *testing.T) {
	result, err := connect(t, schematest.New(t), "projection").Query(t.Context(), `
		select table_name || '.' || column_name
		from information_schema.columns
		where table_schema = 'projection'
		  and table_name not in ('message_count', 'generation', 'position')`)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectRows(result, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range store.Tables() {
		for _, column := range store.Columns(table) {
			got = append(got, store.Column{Table: table, Name: column}.String())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("columns\n%v, want\n%v", got, want)
	}
}
