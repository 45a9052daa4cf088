package store

import (
	_ "embed"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"callboard/projector/fold"
)

// partitionColumn is the first column of a table whose rows belong to partitions, and of its key.
const partitionColumn = "partition"

//go:embed referenced_targets.sql
var referencedTargetsSQL string

// table is a database table whose rows are R, which begin with the fields of their key K. In a table whose rows belong
// to partitions, the key follows the partition, which is no part of R: a statement touches the rows of one partition,
// which is its first parameter.
type table[K, R any] struct {
	name         string
	partitioned  bool
	key, columns []column

	// The parameters of these statements are those that queue adds, then the arrays of bind or bindKeys.
	selectByKeySQL string
	upsertSQL      string
	deleteSQL      string
	addSQL         string // adds to the last column
	deleteZeroSQL  string // deletes rows whose last column is 0
}

// newTable describes a table by the tags of its rows. tag names the columns of fields without a tag.
func newTable[K, R any](name string, partitioned bool, tag string) table[K, R] {
	all := kinds()
	t := table[K, R]{
		name: name, partitioned: partitioned,
		key: columnsOf(all, reflect.TypeFor[K](), tag), columns: columnsOf(all, reflect.TypeFor[R](), tag),
	}

	t.selectByKeySQL = t.selectSQL(t.unnest(t.key), names(t.key))
	t.upsertSQL = t.insertOr(onConflict(t.columns[len(t.key):]))
	t.deleteSQL = fmt.Sprintf("delete from %s as t where (%s) in (select * from %s)%s",
		t.name, names(t.key), t.unnest(t.key), t.ofPartition(" and "))

	// Only counters are added to, and their number is the last column.
	last := t.columns[len(t.columns)-1].name
	t.addSQL = t.insertOr(fmt.Sprintf("update set %[1]s = t.%[1]s + excluded.%[1]s", last))
	t.deleteZeroSQL = t.deleteSQL + " and t." + last + " = 0"

	return t
}

// selectSQL selects the rows that equal rows of a relation in some columns.
func (t table[K, R]) selectSQL(relation, columns string) string {
	return fmt.Sprintf("select %s from %s as t join %s as k (%s) using (%s)%s",
		list(t.columns, func(_ int, c column) string { return wrap(c.read, "t."+c.name) }),
		t.name, relation, columns, columns, t.ofPartition(" where "))
}

// insertOr inserts rows. onConflict says what becomes of those whose key exists.
func (t table[K, R]) insertOr(onConflict string) string {
	values := list(t.columns, func(_ int, c column) string { return wrap(c.write, "new."+c.name) })
	partition, number := "", ""
	if t.partitioned {
		partition, number = partitionColumn+", ", "$1::smallint, "
	}
	return fmt.Sprintf("insert into %s as t (%s%s) select %s%s from %s as new (%s) on conflict (%s%s) do %s",
		t.name, partition, names(t.columns), number, values, t.unnest(t.columns), names(t.columns),
		partition, names(t.key), onConflict)
}

// ofPartition is the condition on the partition, and empty for a table without partitions.
func (t table[K, R]) ofPartition(before string) string {
	if !t.partitioned {
		return ""
	}
	return before + "t." + partitionColumn + " = $1"
}

func onConflict(columns []column) string {
	if len(columns) == 0 {
		return "nothing"
	}
	return "update set " + list(columns, func(_ int, c column) string { return c.name + " = excluded." + c.name })
}

// unnest is a relation of parameters, one array per column.
func (t table[K, R]) unnest(columns []column) string {
	first := 1
	if t.partitioned {
		first = 2
	}
	parameter := func(i int, c column) string { return fmt.Sprintf("$%d::%s[]", first+i, c.array) }
	return "unnest(" + list(columns, parameter) + ")"
}

func names(columns []column) string {
	return list(columns, func(_ int, c column) string { return c.name })
}

func list(columns []column, text func(int, column) string) string {
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

// queue queues a statement about rows of the state's partition.
func (t table[K, R]) queue(pipeline *pgx.Batch, s *fold.State, sql string, arrays []any) *pgx.QueuedQuery {
	if t.partitioned {
		arrays = append([]any{s.Partition}, arrays...)
	}
	return pipeline.Queue(sql, arrays...)
}

// bind returns count rows as one array per column.
func (t table[K, R]) bind(count int, rows iter.Seq[*R]) []any { return arrays(t.columns, count, rows) }

// bindKeys returns keys as one array per column of the key.
func (t table[K, R]) bindKeys(keys []K) []any { return arrays(t.key, len(keys), pointers(keys)) }

// collect reads the rows of a selection.
func (t table[K, R]) collect(rows pgx.Rows, load func(K, R)) error {
	defer rows.Close()

	for rows.Next() {
		var key K
		var row R
		if err := decode(t.key, reflect.ValueOf(&key).Elem(), rows.RawValues()); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if err := decode(t.columns, reflect.ValueOf(&row).Elem(), rows.RawValues()); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}

		load(key, row)
	}

	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}

// decode sets the fields of a row to the values of the columns.
func decode(columns []column, row reflect.Value, values [][]byte) error {
	for i, c := range columns {
		if !c.decode(c.field(row), values[i]) {
			return fmt.Errorf("column %s has a value of %d bytes", c.name, len(values[i]))
		}
	}
	return nil
}
