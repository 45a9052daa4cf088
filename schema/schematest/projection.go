package schematest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Tables are the rows of a projection as text, sorted, by table: all that a replay of the stream must give again. The positions
// are not among them, since who owned a partition how often is no part of the meaning.
type Tables map[string][]string

// Projection reads every row of the live projection.
func (d *Database) Projection(tb testing.TB) Tables {
	tb.Helper()
	return ReadProjection(tb, d.URL())
}

// ReadProjection reads every row of the live projection of any database, as the superuser's URL reaches it.
func ReadProjection(tb testing.TB, url string) Tables {
	tb.Helper()
	tables := Tables{}
	withConn(tb, url, func(conn *pgx.Conn) {
		for _, name := range projectionTables(tb, conn) {
			rows, err := conn.Query(tb.Context(), "select r::text from projection."+name+" as r")
			if err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			if tables[name], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			slices.Sort(tables[name])
		}
	})
	return tables
}

// TruncateProjection empties the live projection, positions included: the next projector replays the stream from its first event.
func (d *Database) TruncateProjection(tb testing.TB) {
	tb.Helper()
	withConn(tb, d.URL(), func(conn *pgx.Conn) {
		list := "projection.position, projection." + strings.Join(projectionTables(tb, conn), ", projection.")
		if _, err := conn.Exec(tb.Context(), "truncate "+list); err != nil {
			tb.Fatalf("truncate: %v", err)
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

// projectionTables are asked for, so that one added later is compared without being named anywhere.
func projectionTables(tb testing.TB, conn *pgx.Conn) []string {
	tb.Helper()
	rows, err := conn.Query(tb.Context(),
		"select tablename::text from pg_tables where schemaname = 'projection' and tablename not in ('generation', 'position') order by tablename")
	if err != nil {
		tb.Fatalf("tables: %v", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		tb.Fatalf("%d tables: %v", len(names), err)
	}
	return names
}

// Diff returns the rows that only one side has, the first of each table: "call_log: only here: (...)". None: the two are equal.
func (t Tables) Diff(other Tables) []string {
	var list []string
	for name, rows := range t {
		here, there := missing(rows, other[name]), missing(other[name], rows)
		if len(here) > 0 {
			list = append(list, fmt.Sprintf("%s: %d only here: %s", name, len(here), here[0]))
		}
		if len(there) > 0 {
			list = append(list, fmt.Sprintf("%s: %d only there: %s", name, len(there), there[0]))
		}
	}
	slices.Sort(list)
	return list
}

// missing are the sorted rows that are not among the sorted others.
func missing(rows, others []string) []string {
	var list []string
	for _, row := range rows {
		if _, found := slices.BinarySearch(others, row); !found {
			list = append(list, row)
		}
	}
	return list
}

// RowCount is how many rows all tables hold.
func (t Tables) RowCount() int {
	n := 0
	for _, rows := range t {
		n += len(rows)
	}
	return n
}
