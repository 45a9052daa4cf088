package store

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
)

//go:embed snapshot.sql
var snapshotSQL string

// SnapshotOptions are those of a transaction in which stored rows are read. Its first query takes its snapshot.
func SnapshotOptions() pgx.TxOptions { return pgx.TxOptions{BeginQuery: snapshotSQL} }

// scanRows is how many rows a statement selects. The next one continues after them: a caller that stops early waits for the rest of a
// statement only.
const scanRows = 5000

// StoredRows yields the rows of a table after a key in the order of their keys, all of them if the key is nil. A row whose partition isn't
// that of its phone system is out of reach of every other statement, and is left out. conn should be in a transaction with
// [SnapshotOptions]; it is busy until the sequence ends. The sequence ends at an error.
func StoredRows(ctx context.Context, conn *pgx.Conn, c Catalog, table string, after Key) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r, ok := c.relation(table)
		if !ok {
			return
		}
		s := c.scan(r)
		s.yield = yield
		if c.hasPartitions(r) && s.decoder.widths[0] != 0 {
			s.yield = inPartition(c.partitions, yield)
		}
		if c.distributed && c.hasPartitions(r) {
			c.mergedScan(r, after).run(ctx, conn, s.yield)
			return
		}
		s.run(ctx, conn, after)
	}
}

// inPartition passes on rows that are in the partition of their phone system.
func inPartition(partitions int, yield func(Row, error) bool) func(Row, error) bool {
	var system uuid.UUID
	partition := events.Partition(system, partitions)
	return func(row Row, err error) bool {
		if err != nil {
			return yield(row, err)
		}
		if row.System != system {
			system, partition = row.System, events.Partition(row.System, partitions)
		}
		stored := int(int16(binary.BigEndian.Uint16(row.Fields[0])))
		return stored != partition || yield(row, nil)
	}
}

// StoredRowsOf is like [StoredRows], and yields all rows of some phone systems, which are in order. [uuid.Nil] stands for rows of no
// single system. Each statement reads the rows of one phone system.
func StoredRowsOf(ctx context.Context, conn *pgx.Conn, c Catalog, table string, systems []uuid.UUID) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r, ok := c.relation(table)
		if !ok {
			return
		}
		s := c.scanOfSystem(r)
		s.yield = yield
		if c.distributed {
			if err := setNodes(ctx, conn); err != nil {
				yield(Row{}, err)
				return
			}
		}
		for _, system := range systems {
			if r.ofNoSystem() && system != uuid.Nil {
				continue
			}
			s.arguments = c.systemArguments(r, system)
			if !s.run(ctx, conn, nil) {
				return
			}
		}
	}
}

// scan selects rows of a table in the order of their keys.
type scan struct {
	decoder    *decoder
	columns    string   // the selected ones
	from       string   // the table with its schema
	conditions []string // with the first parameters
	arguments  [][]byte // of the conditions
	key        []int    // the values of the key by which the rows are ordered
	limit      int      // how many rows a statement selects
	yield      func(Row, error) bool
}

// scan selects all rows.
func (c Catalog) scan(r relation) scan {
	s := scan{decoder: newDecoder(r, c), columns: c.columns(r), from: c.prefix + r.name, limit: scanRows}
	for i := range r.order {
		if s.decoder.widths[r.system()+i] != 0 {
			s.key = append(s.key, i)
		}
	}
	return s
}

// scanOfSystem selects the rows of one phone system, whose systemArguments are the arguments. Of a table that each node has a copy of, it
// reads that of the node with the phone system's partition: no other copy has the same snapshot as the partition's position.
func (c Catalog) scanOfSystem(r relation) scan {
	s := c.scan(r)
	if !r.ofNoSystem() {
		s.key = s.key[1:]
		s.conditions = append(s.conditions, r.columns[r.system()]+" = $1")
	}
	if c.isCopied(r) {
		s.from += ", " + c.prefix + "position"
	}
	if c.hasPartitions(r) || c.isCopied(r) {
		s.conditions = append(s.conditions, fmt.Sprintf("%s = $%d::smallint", partitionColumn, len(s.conditions)+1))
	}
	return s
}

func (c Catalog) systemArguments(r relation, system uuid.UUID) (arguments [][]byte) {
	if !r.ofNoSystem() {
		arguments = append(arguments, system[:])
	}
	if c.hasPartitions(r) || c.isCopied(r) {
		arguments = append(arguments, binary.BigEndian.AppendUint16(nil, uint16(events.Partition(system, c.partitions))))
	}
	return arguments
}

// statement selects the first rows, or the rows after a key.
func (s scan) statement(after Key) (sql string, arguments [][]byte) {
	conditions, arguments := slices.Clone(s.conditions), slices.Clone(s.arguments)
	var order, parameters []string
	for _, i := range s.key {
		order = append(order, s.decoder.orderBy[i])
		if after != nil {
			arguments = append(arguments, after[i])
			parameters = append(parameters, fmt.Sprintf("$%d", len(arguments)))
		}
	}
	if after != nil {
		conditions = append(conditions, fmt.Sprintf("(%s) > (%s)", strings.Join(order, ", "), strings.Join(parameters, ", ")))
	}
	sql = fmt.Sprintf("select %s from %s", s.columns, s.from)
	if len(conditions) > 0 {
		sql += " where " + strings.Join(conditions, " and ")
	}
	if len(order) > 0 {
		sql += " order by " + strings.Join(order, ", ")
	}
	return fmt.Sprintf("%s limit %d", sql, s.limit), arguments
}

// run yields the rows after a key, and tells whether the caller wants more.
func (s scan) run(ctx context.Context, conn *pgx.Conn, after Key) (more bool) {
	for {
		last, more, err := s.portion(ctx, conn, after)
		if more && err != nil {
			s.yield(Row{}, fmt.Errorf("%s: %w", s.decoder.name, err))
			return false
		}
		if last == nil || !more {
			return more
		}
		after = last
	}
}

// portion executes one statement. It returns the key after which the next one continues; nil: there are no more rows.
func (s scan) portion(ctx context.Context, conn *pgx.Conn, after Key) (last Key, more bool, err error) {
	sql, arguments := s.statement(after)
	prepared, err := conn.Prepare(ctx, sql, sql)
	if err != nil {
		return nil, true, err
	}
	binaryFormat := []int16{pgx.BinaryFormatCode}
	result := conn.PgConn().ExecPrepared(ctx, prepared.Name, arguments, binaryFormat, binaryFormat)
	more = true
	for n := 1; more && result.NextRow(); n++ {
		row := s.decoder.storedRow(result.Values())
		if n == s.limit {
			last = row.Key().Clone(nil)
		}
		more = s.yield(row, nil)
	}
	_, err = result.Close()
	return last, more, err
}
