//go:build linux

package load_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// upsertRows is how many rows a bare upsert writes in a transaction.
const upsertRows = 2000

// tablesOfCalls are the tables that nearly all rows are in.
func tablesOfCalls() []string {
	return []string{"call_log", "extension_entry", "transcript", "transcript_text", "recording", "analysis", "voicemail"}
}

// upsertBare empties the tables of calls and writes the same rows back, and returns how long the writing took: one
// INSERT .. SELECT unnest .. ON CONFLICT a transaction. PostgreSQL made the arrays, so the time has no encoding in
// it.
func (i *installation) upsertBare() (took time.Duration) {
	i.Helper()
	err := i.pool.AcquireFunc(i.Context(), func(conn *pgxpool.Conn) error {
		for _, table := range tablesOfCalls() {
			d, err := i.upsertTable(conn.Conn(), table)
			if err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
			took += d
		}
		return nil
	})
	if err != nil {
		i.Fatal(err)
	}
	return took
}

// tableColumn is a column of a table.
type tableColumn struct {
	Name, Type string
	Key        bool // of the primary key
}

func (i *installation) upsertTable(conn *pgx.Conn, table string) (time.Duration, error) {
	rows, _ := conn.Query(i.Context(), `
		select attname::text, format_type(atttypid, atttypmod), attnum = any (indkey)
		from pg_attribute join pg_index on indrelid = attrelid and indisprimary
		where attrelid = ('projection.' || $1)::regclass and attnum > 0 and not attisdropped
		order by attnum`, table)
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[tableColumn])
	if err != nil {
		return 0, err
	}
	batches, err := i.arrays(conn, table, columns)
	if err != nil {
		return 0, err
	}
	if _, err := conn.Exec(i.Context(), "truncate projection."+table); err != nil {
		return 0, err
	}
	statement, err := conn.PgConn().Prepare(i.Context(), table, upsertSQL(table, columns), nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for _, batch := range batches {
		if result := conn.PgConn().ExecPrepared(i.Context(), statement.Name, batch, binaryFormat(), nil).Read(); result.Err != nil {
			return 0, result.Err
		}
	}
	return time.Since(began), nil
}

// arrays returns a table's rows in batches, each of one array per column in PostgreSQL's binary format.
func (i *installation) arrays(conn *pgx.Conn, table string, columns []tableColumn) (batches [][][]byte, err error) {
	sql := fmt.Sprintf("select %s from (select *, (row_number() over () - 1) / %d as batch from projection.%s) as t group by batch",
		each(columns, func(_ int, c tableColumn) string { return "array_agg(" + c.Name + ")" }), upsertRows, table)
	result := conn.PgConn().ExecParams(i.Context(), sql, nil, nil, nil, binaryFormat())
	for result.NextRow() {
		var batch [][]byte
		for _, array := range result.Values() {
			batch = append(batch, slices.Clone(array))
		}
		batches = append(batches, batch)
	}
	_, err = result.Close()
	return batches, err
}

// binaryFormat is the format of all parameters, or of all columns.
func binaryFormat() []int16 { return []int16{1} }

func upsertSQL(table string, columns []tableColumn) string {
	name := func(_ int, c tableColumn) string { return c.Name }
	key, others := slices.Clone(columns), slices.Clone(columns)
	key = slices.DeleteFunc(key, func(c tableColumn) bool { return !c.Key })
	others = slices.DeleteFunc(others, func(c tableColumn) bool { return c.Key })
	action := "nothing"
	if len(others) > 0 {
		action = "update set " + each(others, func(_ int, c tableColumn) string { return c.Name + " = excluded." + c.Name })
	}
	return fmt.Sprintf("insert into projection.%s (%s) select * from unnest(%s) on conflict (%s) do %s", table, each(columns, name),
		each(columns, func(n int, c tableColumn) string { return fmt.Sprintf("$%d::%s[]", n+1, c.Type) }), each(key, name), action)
}

func each(columns []tableColumn, text func(n int, c tableColumn) string) string {
	var list []string
	for n, c := range columns {
		list = append(list, text(n, c))
	}
	return strings.Join(list, ", ")
}
