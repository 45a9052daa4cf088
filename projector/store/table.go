package store

import (
	_ "embed"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
)

// partitionColumn is the first column of a table whose rows belong to partitions, and of its key.
const partitionColumn = "partition"

//go:embed referenced_keys.sql
var referencedKeysSQL string

//go:embed referenced_targets.sql
var referencedTargetsSQL string

// table is a database table whose rows are R. Its first columns are its key. In a table whose rows belong to partitions they follow the
// partition, which is no part of R: a statement touches the rows of one partition, which is its first parameter.
type table[R any] struct {
	name        string
	partitioned bool
	key         int // how many columns, without the partition
	columns     []column[R]

	// The parameters of these statements are those of arguments, with the arrays of bind or bindKeys.
	selectSQL           string // all rows; without parameters
	selectByKeySQL      string
	selectReferencedSQL string // rows named by key, and those that other rows refer to; empty where nothing needs it
	upsertSQL           string
	deleteSQL           string
	addSQL              string // adds to the last column
	deleteZeroSQL       string // deletes rows whose last column is 0
}

// newTable describes a table whose rows belong to partitions.
func newTable[R any](name string, key int, columns []column[R]) table[R] {
	return defineTable(table[R]{name: name, partitioned: true, key: key, columns: columns})
}

// newGlobalTable describes a table without partitions.
func newGlobalTable[R any](name string, key int, columns []column[R]) table[R] {
	return defineTable(table[R]{name: name, key: key, columns: columns})
}

func defineTable[R any](t table[R]) table[R] {
	t.selectSQL = fmt.Sprintf("select %s from %s as t",
		list(t.columns, func(_ int, c column[R]) string { return wrap(c.read, "t."+c.name) }), t.name)
	t.selectByKeySQL = t.joined(t.unnest(t.columns[:t.key]))
	t.upsertSQL = t.insertOr(onConflict(t.columns[t.key:]))
	t.deleteSQL = fmt.Sprintf("delete from %s as t where (%s) in (select * from %s)%s",
		t.name, names(t.columns[:t.key]), t.unnest(t.columns[:t.key]), t.ofPartition(" and "))
	last := t.columns[len(t.columns)-1].name
	t.addSQL = t.insertOr(fmt.Sprintf("update set %[1]s = t.%[1]s + excluded.%[1]s", last))
	t.deleteZeroSQL = t.deleteSQL + " and t." + last + " = 0"
	return t
}

// withReferenced adds the selection of rows by key, and of those whose key is in rows r of a table, which are given by system and a column.
func (t table[R]) withReferenced(key, from, column string) table[R] {
	t.selectReferencedSQL = t.joined("(" + fmt.Sprintf(referencedKeysSQL, t.unnest(t.columns[:t.key]), key, from, column) + ")")
	return t
}

// withReferencedTargets adds the selection of the rows whose keys are those of what calls refer to. The calls are given by system and id.
func (t table[R]) withReferencedTargets() table[R] {
	t.selectReferencedSQL = t.joined("(" + referencedTargetsSQL + ")")
	return t
}

// joined selects the rows whose keys are in a relation.
func (t table[R]) joined(keys string) string {
	columns := names(t.columns[:t.key])
	return fmt.Sprintf("%s join %s as k (%s) using (%s)%s", t.selectSQL, keys, columns, columns, t.ofPartition(" where "))
}

// insertOr inserts rows. onConflict says what becomes of those whose key exists.
func (t table[R]) insertOr(onConflict string) string {
	values := list(t.columns, func(_ int, c column[R]) string { return wrap(c.write, "new."+c.name) })
	partition, number := "", ""
	if t.partitioned {
		partition, number = partitionColumn+", ", "$1::smallint, "
	}
	return fmt.Sprintf("insert into %s as t (%s%s) select %s%s from %s as new (%s) on conflict (%s%s) do %s",
		t.name, partition, names(t.columns), number, values, t.unnest(t.columns), names(t.columns),
		partition, names(t.columns[:t.key]), onConflict)
}

// ofPartition is the condition on the partition, and empty for a table without partitions.
func (t table[R]) ofPartition(before string) string {
	if !t.partitioned {
		return ""
	}
	return before + "t." + partitionColumn + " = $1"
}

func onConflict[R any](columns []column[R]) string {
	if len(columns) == 0 {
		return "nothing"
	}
	return "update set " + list(columns, func(_ int, c column[R]) string { return c.name + " = excluded." + c.name })
}

// unnest is a relation of parameters, one array per column.
func (t table[R]) unnest(columns []column[R]) string {
	first := 1
	if t.partitioned {
		first = 2
	}
	return "unnest(" + list(columns, func(i int, c column[R]) string { return fmt.Sprintf("$%d::%s[]", first+i, c.array) }) + ")"
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

// arguments returns a statement's arguments: the partition where the table has partitions, then the arrays.
func (t table[R]) arguments(partition int16, arrays []any) []any {
	if !t.partitioned {
		return arrays
	}
	return append([]any{partition}, arrays...)
}

// bind returns count rows as one array per column.
func (t table[R]) bind(count int, rows iter.Seq[*R]) []any { return arrays(t.columns, count, rows) }

// bindKeys returns the keys of count rows as one array per key column.
func (t table[R]) bindKeys(count int, rows iter.Seq[*R]) []any {
	return arrays(t.columns[:t.key], count, rows)
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
