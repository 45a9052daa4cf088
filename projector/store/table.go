package store

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// table is a database table whose rows are R. Its first columns are its key.
type table[R any] struct {
	name    string
	key     int
	columns []column[R]
}

// upsert is the statement that writes rows; its parameters are those of bind.
func (t table[R]) upsert() string {
	return fmt.Sprintf("insert into %s as t (%s) select %s from unnest(%s) as new (%s) on conflict (%s) do %s",
		t.name, names(t.columns), t.written(), t.parameters(t.columns), names(t.columns), names(t.columns[:t.key]), t.onConflict())
}

// remove is the statement that deletes rows by key.
func (t table[R]) remove() string {
	return fmt.Sprintf("delete from %s where (%s) in (select * from unnest(%s))",
		t.name, names(t.columns[:t.key]), t.parameters(t.columns[:t.key]))
}

// selection is the statement that loads rows, up to its condition.
func (t table[R]) selection() string {
	read := make([]string, len(t.columns))
	for i, c := range t.columns {
		if read[i] = "t." + c.name; c.read != "" {
			read[i] = fmt.Sprintf(c.read, "t."+c.name)
		}
	}
	return fmt.Sprintf("select %s from %s as t", strings.Join(read, ", "), t.name)
}

func (t table[R]) onConflict() string {
	rest := t.columns[t.key:]
	if len(rest) == 0 {
		return "nothing"
	}
	set := make([]string, len(rest))
	for i, c := range rest {
		set[i] = c.name + " = excluded." + c.name
	}
	return "update set " + strings.Join(set, ", ")
}

func (t table[R]) written() string {
	written := make([]string, len(t.columns))
	for i, c := range t.columns {
		if written[i] = "new." + c.name; c.write != "" {
			written[i] = fmt.Sprintf(c.write, "new."+c.name)
		}
	}
	return strings.Join(written, ", ")
}

func (t table[R]) parameters(columns []column[R]) string {
	parameters := make([]string, len(columns))
	for i, c := range columns {
		parameters[i] = fmt.Sprintf("$%d::%s[]", i+1, c.array)
	}
	return strings.Join(parameters, ", ")
}

func names[R any](columns []column[R]) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return strings.Join(list, ", ")
}

func (t table[R]) bind(columns []column[R], rows []R) []any { return bindAll(columns, rows) }

func bindAll[R any](columns []column[R], rows []R) []any {
	parameters := make([]any, len(columns))
	for i, c := range columns {
		parameters[i] = c.bind(rows)
	}
	return parameters
}

// collect scans every row of a selection.
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
