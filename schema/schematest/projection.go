package schematest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Tables are a projection's rows by table, as sorted text: what every replay of the stream must produce. The positions
// are missing, because they also say how often a partition changed its owner.
type Tables map[string][]string

// Projection reads all rows of the live projection.
func (d *Database) Projection(tb testing.TB) Tables {
	tb.Helper()
	return ReadProjection(tb, d.URL())
}

// ReadProjection reads all rows of the live projection of the database at a superuser's URL.
func ReadProjection(tb testing.TB, url string) Tables {
	tb.Helper()
	tables := Tables{}
	withConn(tb, url, func(conn *pgx.Conn) {
		names := projectionTables(tb, conn)
		parts := make([]string, len(names))
		for i, name := range names {
			parts[i] = fmt.Sprintf("select '%[1]s', r::text from projection.%[1]s as r", name)
		}

		// One statement: planning each of them in a new session takes longer than reading the rows.
		rows, _ := conn.Query(tb.Context(), strings.Join(parts, " union all "), pgx.QueryExecModeSimpleProtocol)
		var name, row string
		if _, err := pgx.ForEachRow(rows, []any{&name, &row}, func() error {
			tables[name] = append(tables[name], row)
			return nil
		}); err != nil {
			tb.Fatalf("rows: %v", err)
		}

		for _, name := range names {
			slices.Sort(tables[name])
		}
	})

	return tables
}

// ClearProjection empties the live projection and its positions, so that the next projector replays the stream from its
// first event. It deletes the rows: to truncate the tables, PostgreSQL creates more than a hundred files.
func (d *Database) ClearProjection(tb testing.TB) {
	tb.Helper()
	withConn(tb, d.URL(), func(conn *pgx.Conn) {
		list := "delete from projection.position; delete from projection." + strings.Join(projectionTables(tb, conn), "; delete from projection.")
		if _, err := conn.Exec(tb.Context(), list, pgx.QueryExecModeSimpleProtocol); err != nil {
			tb.Fatalf("clear the projection: %v", err)
		}
	})
}

const partitionDefaultSQL = `
	do $$ declare t name; begin
	  for t in select relname from pg_class join pg_attribute on attrelid = pg_class.oid
	    where relnamespace = 'projection'::regnamespace and relkind in ('r', 'p') and attname = 'partition'
	  loop execute format('alter table projection.%I alter column partition set default 0', t); end loop;
	end $$`

// OnePartition makes the live projection that of a stream with a single partition. Rows that are inserted without a
// partition are in it.
func (d *Database) OnePartition(tb testing.TB) {
	tb.Helper()
	withConn(tb, d.URL(), func(conn *pgx.Conn) {
		sql := "update projection.generation set partitions = 1;"
		if !OnNodes() {
			sql += partitionDefaultSQL
		}
		_, err := conn.Exec(tb.Context(), sql)
		if err != nil {
			tb.Fatalf("one partition: %v", err)
		}
	})
}

func withConn(tb testing.TB, url string, work func(*pgx.Conn)) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	work(conn)
	if err := conn.Close(tb.Context()); err != nil {
		tb.Errorf("close: %v", err)
	}
}

// projectionTables lists the tables from the catalog, so that a new table is compared too.
func projectionTables(tb testing.TB, conn *pgx.Conn) []string {
	tb.Helper()
	rows, _ := conn.Query(tb.Context(),
		"select tablename::text from pg_tables where schemaname = 'projection' and tablename not in ('generation', 'position') order by tablename")
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		tb.Fatalf("%d tables: %v", len(names), err)
	}
	return names
}

// Diff returns how many rows of each table only one side has, with the first of them: "call_log: 3 only in the first:
// (...)". It returns nothing if both are equal.
func (t Tables) Diff(other Tables) []string {
	names := slices.Concat(slices.Collect(maps.Keys(t)), slices.Collect(maps.Keys(other)))
	slices.Sort(names)
	var list []string

	for _, name := range slices.Compact(names) {
		if first := missing(t[name], other[name]); len(first) > 0 {
			list = append(list, fmt.Sprintf("%s: %d only in the first: %s", name, len(first), first[0]))
		}
		if second := missing(other[name], t[name]); len(second) > 0 {
			list = append(list, fmt.Sprintf("%s: %d only in the second: %s", name, len(second), second[0]))
		}
	}
	return list
}

// RequireEqual fails the test where rows differ.
func RequireEqual(tb testing.TB, what string, got, want Tables) {
	tb.Helper()
	if list := got.Diff(want); len(list) > 0 {
		tb.Errorf("%s: the rows (first) differ from the wanted ones (second):\n%s", what, strings.Join(list, "\n"))
	}
}

// missing returns the rows that are not among the others, which are sorted.
func missing(rows, others []string) []string {
	var list []string
	for _, row := range rows {
		if _, found := slices.BinarySearch(others, row); !found {
			list = append(list, row)
		}
	}
	return list
}
