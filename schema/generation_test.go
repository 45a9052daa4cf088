package schema_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
	"callboard/schema/schematest"
)

func begin(t *testing.T, conn *pgx.Conn, change func(tx pgx.Tx) error) {
	t.Helper()
	if err := pgx.BeginFunc(t.Context(), conn, change); err != nil {
		t.Fatal(err)
	}
}

// describe returns the columns, keys, indexes and rights of a schema's tables.
func describe(t *testing.T, conn *pgx.Conn, name string) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), `
		select format('%s.%s %s %s %s', relname, attname, atttypid::regtype, attnotnull, attcompression)
		from pg_attribute join pg_class c on c.oid = attrelid
		where relnamespace = $1::regnamespace and relkind = 'r' and attnum > 0
		union all
		select replace(pg_get_indexdef(indexrelid), $1::text, '') from pg_index join pg_class c on c.oid = indrelid where relnamespace = $1::regnamespace
		union all
		select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint where connamespace = $1::regnamespace
		union all
		select format('%s %s', relname, relacl) from pg_class where relnamespace = $1::regnamespace and relkind = 'r'
		order by 1`, name)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A generation whose readers' indexes are created later equals the live one, and can replace it.
func TestGeneration_CreatesReaderIndexesAndGoesLive(t *testing.T) {
	schematest.NeedOneServer(t, "rights are on whole tables there")
	t.Parallel()
	d := schematest.New(t)
	conn := connectTo(t, d)
	whole := describe(t, conn, "projection")
	var next schema.Generation
	begin(t, conn, func(tx pgx.Tx) (err error) {
		next, err = schema.NewGeneration(t.Context(), tx, 0)
		return err
	})
	if got := describe(t, conn, next.Schema()); len(got) > len(whole)-10 {
		t.Errorf("without readers' indexes: %d lines, want at least 10 fewer than %d", len(got), len(whole))
	}
	schematest.Exec(t, conn, "set search_path to "+next.Schema())
	for _, statement := range schema.ReaderIndexes() {
		schematest.Exec(t, conn, statement)
		schematest.Exec(t, conn, statement) // as after an interruption
	}
	if got := describe(t, conn, next.Schema()); !slices.Equal(got, whole) {
		t.Errorf("indexed again:\n%q\nwant\n%q", got, whole)
	}
	first := schema.Generation{ID: next.ID - 1}
	begin(t, conn, func(tx pgx.Tx) error {
		if err := first.MakePrevious(t.Context(), tx); err != nil {
			return err
		}
		return next.MakeLive(t.Context(), tx)
	})
	if id := schematest.QueryOne[int64](t, conn, "select id from projection.generation"); id != next.ID {
		t.Errorf("live generation = %d, want %d", id, next.ID)
	}
	begin(t, conn, func(tx pgx.Tx) error { return first.Drop(t.Context(), tx) })
	if schematest.QueryOne[bool](t, conn, "select to_regnamespace($1) is not null", first.Schema()) {
		t.Error("the dropped generation's schema exists")
	}
}
