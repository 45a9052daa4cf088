package store

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// table is a database table whose rows are R. Its first columns are its key.
type table[R any] struct {
	name    string
	key     int // how many columns
	columns []column[R]

	selectSQL           string // all rows
	selectByKeySQL      string // its parameters are those of bindKeys
	selectReferencedSQL string // rows named by key, and those that other rows refer to; empty where nothing needs it
	upsertSQL           string // its parameters are those of bind
	deleteSQL           string // its parameters are those of bindKeys
}

func newTable[R any](name string, key int, columns []column[R]) table[R] {
	t := table[R]{name: name, key: key, columns: columns}
	keys := columns[:key]
	t.selectSQL = fmt.Sprintf("select %s from %s as t",
		list(columns, func(_ int, c column[R]) string { return wrap(c.read, "t."+c.name) }), name)
	t.selectByKeySQL = t.joined("unnest(" + parameters(keys) + ")")
	t.upsertSQL = fmt.Sprintf("insert into %s as t (%s) select %s from unnest(%s) as new (%s) on conflict (%s) do %s",
		name, names(columns), list(columns, func(_ int, c column[R]) string { return wrap(c.write, "new."+c.name) }),
		parameters(columns), names(columns), names(keys), onConflict(columns[key:]))
	t.deleteSQL = fmt.Sprintf("delete from %s where (%s) in (select * from unnest(%s))", name, names(keys), parameters(keys))
	return t
}

// withReferenced adds the selection of rows whose keys a query returns.
func (t table[R]) withReferenced(keysSQL string) table[R] {
	t.selectReferencedSQL = t.joined("(" + keysSQL + ")")
	return t
}

// joined selects the rows whose keys are in a relation.
func (t table[R]) joined(keys string) string {
	columns := names(t.columns[:t.key])
	return fmt.Sprintf("%s join %s as k (%s) using (%s)", t.selectSQL, keys, columns, columns)
}

func onConflict[R any](columns []column[R]) string {
	if len(columns) == 0 {
		return "nothing"
	}
	return "update set " + list(columns, func(_ int, c column[R]) string { return c.name + " = excluded." + c.name })
}

func parameters[R any](columns []column[R]) string {
	return list(columns, func(i int, c column[R]) string { return fmt.Sprintf("$%d::%s[]", i+1, c.array) })
}

func names[R any](columns []column[R]) string {
	return list(columns, func(_ int, c column[R]) string { return c.name })
}

func list[R any](columns []column[R], text func(int, column[R]) string) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = text(i, c)
	}
	return strings.Join(texts, ", ")
}

// wrap puts a value into an expression; an empty expression is the value itself.
func wrap(expression, value string) string {
	if expression == "" {
		return value
	}
	return fmt.Sprintf(expression, value)
}

// bind returns the rows as one array per column.
func (t table[R]) bind(rows []R) []any { return bindColumns(t.columns, rows) }

// bindKeys returns the rows' keys as one array per key column.
func (t table[R]) bindKeys(rows []R) []any { return bindColumns(t.columns[:t.key], rows) }

func bindColumns[R any](columns []column[R], rows []R) []any {
	arrays := make([]any, len(columns))
	for i, c := range columns {
		arrays[i] = c.bind(rows)
	}
	return arrays
}

// collect scans the rows of a selection.
func (t table[R]) collect(rows pgx.Rows, load func(R)) error {
	defer rows.Close()
	targets := make([]any, len(t.columns))
	for rows.Next() {
		var row R
		for i, c := range t.columns {
			targets[i] = c.scan(&row)
		}
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		load(row)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}
