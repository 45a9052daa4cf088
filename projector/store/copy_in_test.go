package store_test

import (
	"context"
	_ "embed"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/schema/schematest"
)

//go:embed testdata/miscounted.sql
var miscountedSQL string

// checkCopied checks that copying gives the tables that batches of the same history give.
func checkCopied(t failer, written, copied schematest.Tables, rows int64) {
	t.Helper()
	delete(written, "message_count") // counts messages, not rows
	delete(copied, "message_count")
	if list := written.Diff(copied); len(list) > 0 {
		t.Fatalf("written tables (first) and copied tables (second) differ:\n%s", strings.Join(list, "\n"))
	}
	if int64(copied.RowCount()) != rows {
		t.Fatalf("returned rows = %d, want %d", rows, copied.RowCount())
	}
}

// However a history is cut into batches, the tables hold what the whole history is folded to, and what copying that state gives. At every
// commit the counters equal a recount of the rows.
func TestStore_BatchesEqualTheFoldAndItsCopy(t *testing.T) {
	t.Parallel()
	s, written, pool := openStore(t)
	stored := connect(t, written, "projection")
	copied := schematest.New(t)
	conn := connect(t, copied, "projection")
	check := func(tb testing.TB, t failer, history []foldtest.TimedEvent) {
		tb.Helper()
		checkStored(t, stored, folded(history), allSystems())
		rows := copyState(t, conn, folded(history))
		checkCopied(t, written.Projection(tb), copied.Projection(tb), rows)
	}
	t.Run("a full history", func(t *testing.T) {
		applyBatch(t, s, claim(t, s), foldtest.FullHistory())
		check(t, t, foldtest.FullHistory())
	})
	t.Run("random histories in random batches", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			written.ClearProjection(t)
			copied.ClearProjection(t)
			history := foldtest.RandomHistory(r)
			applyInBatches(r, s, claim(r, s), history, func() { checkCounters(r, pool) })
			check(t, r, history)
		})
	})
}

func checkCounters(t failer, pool *pgxpool.Pool) {
	t.Helper()
	rows, _ := pool.Query(context.Background(), miscountedSQL)
	wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(wrong) > 0 {
		t.Fatalf("wrong counters = %v, %v, want none", wrong, err)
	}
}

func TestCopyState_RowsLieInReadingOrder(t *testing.T) {
	schematest.NeedOneServer(t, "it reads rows by their place")
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	copyState(t, conn, foldedCompany(3, 200))
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
		{"month_count", "system_id, list collate \"C\", subset collate \"C\", month"},
	} {
		var rows, misplaced int
		err := conn.QueryRow(t.Context(), `
			select count(*), count(*) filter (where misplaced)
			from (
				select place < lag(place) over (order by ctid) as misplaced
				from (select ctid, row_number() over (order by `+test.order+`) as place from `+test.table+` as t) as placed
			) as steps`).Scan(&rows, &misplaced)
		// PostgreSQL fills gaps of earlier pages with later rows, so some rows are out of order.
		if err != nil || rows < 2 || misplaced > rows/10 {
			t.Errorf("%s: rows out of order = %d of %d, %v, want at most a tenth", test.table, misplaced, rows, err)
		}
	}
}

func TestCopyState_UsesTheSearchPath(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	exec(t, database, "alter schema projection rename to generation_7")
	rows := copyState(t, connect(t, database, "generation_7"), folded(foldtest.FullHistory()))
	conn := connect(t, database, "projection")
	c := readCatalog(t, conn, "generation_7")
	stored := describe(t, storedRows(conn, c))
	if rows == 0 || len(stored) != int(rows) {
		t.Errorf("stored rows = %d, want %d", len(stored), rows)
	}
	if systems, err := store.PhoneSystemIDs(t.Context(), conn, c); err != nil || len(systems) != 2 {
		t.Errorf("systems = %v, %v, want 2", systems, err)
	}
}

func TestCopyState_RefusesValuesOutOfRange(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	none := func(err error) bool { return err == nil }
	outOfRange := func(err error) bool {
		return errors.Is(err, store.ErrRange) && strings.Contains(err.Error(), "voicemail.duration")
	}
	for _, test := range []struct {
		name    string
		change  func(*events.Voicemail)
		refused func(error) bool
	}{
		{"an integer above the range", func(v *events.Voicemail) { v.Duration = math.MaxInt32 + 1 }, outOfRange},
		{"an integer below the range", func(v *events.Voicemail) { v.Duration = math.MinInt32 - 1 }, outOfRange},
		{"a NUL", func(v *events.Voicemail) { v.CallSid = "CA\x00" }, store.IsDataError},
		{"the greatest integer", func(v *events.Voicemail) { v.Duration = math.MaxInt32 }, none},
		{"the least integer", func(v *events.Voicemail) { v.Duration = math.MinInt32 }, none},
	} {
		t.Run(test.name, func(t *testing.T) {
			database.ClearProjection(t)
			v := &events.Voicemail{ID: foldtest.ID(40), PhoneSystemID: foldtest.ID(1), Version: 1}
			test.change(v)
			conn := connect(t, database, "projection")
			_, err := store.CopyState(t.Context(), conn, folded([]foldtest.TimedEvent{{Event: events.Changed(v)}}))
			if !test.refused(err) {
				t.Errorf("error = %v", err)
			}
			var rows int
			if queryErr := conn.QueryRow(t.Context(), "select count(*) from day_count").Scan(&rows); queryErr != nil || (rows == 0) != (err != nil) {
				t.Errorf("counters = %d, %v after error %v", rows, queryErr, err)
			}
		})
	}
}

func TestCopyState_FailsWhenTheServerEndsTheSession(t *testing.T) {
	schematest.NeedOneServer(t, "it needs a trigger")
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	exec(t, database, `
		create function cut() returns trigger language plpgsql as
			$$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
		create trigger cut before insert on projection.call_log for each row execute function cut();
		alter function cut() security definer`)
	if _, err := store.CopyState(t.Context(), conn, foldedCompany(1, 2000)); err == nil {
		t.Error("error = nil, want one")
	}
}

func TestCopyState_NeedsEveryColumn(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	conn := connect(t, database, "projection")
	exec(t, database, "alter table projection.call_log drop column tags")
	if _, err := store.CopyState(t.Context(), conn, new(fold.State)); err == nil || !strings.Contains(err.Error(), "call_log.tags") {
		t.Errorf("error = %v, want one that names call_log.tags", err)
	}
}

// Every table of the schema is folded, except those of message counts, the generation and positions.
func TestTables_CoverTheSchema(t *testing.T) {
	t.Parallel()
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
		t.Errorf("columns = %v, want %v", got, want)
	}
}
