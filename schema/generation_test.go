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
	conn, err := pgx.Connect(t.Context(), d.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
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
	var id int64
	if err := conn.QueryRow(t.Context(), "select id from projection.generation").Scan(&id); err != nil || id != next.ID {
		t.Errorf("live generation = %d, error = %v, want %d", id, err, next.ID)
	}
	begin(t, conn, func(tx pgx.Tx) error { return first.Drop(t.Context(), tx) })
	var left bool
	if err := conn.QueryRow(t.Context(), "select to_regnamespace($1) is not null", first.Schema()).Scan(&left); err != nil || left {
		t.Errorf("schema exists = %t, error = %v, want false", left, err)
	}
}
