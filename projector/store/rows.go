package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// Row is a row of a table, folded or stored. Equal rows have equal bytes. The bytes are valid until the next row.
type Row struct {
	Table  string
	System uuid.UUID // [uuid.Nil]: the row belongs to no single system
	Key    []byte    // the key's columns, each behind its length
	Fields [][]byte  // in the order of Columns; nil: null, or a column that the schema lacks

	relation *relation
	encoded  []byte // the table's name, then the row as COPY has it
}

// Columns returns the names of the fields.
func (r Row) Columns() []string { return r.relation.columns }

// KeyColumns returns how many of the first fields are the key.
func (r Row) KeyColumns() int { return r.relation.key }

// Size returns the size of the row in COPY's binary format, in bytes.
func (r Row) Size() int { return len(r.encoded) - len(r.Table) }

// FoldedRows yields a state's rows of some tables, as they would be stored in a schema with that catalog. The state started from
// nothing. The rows of a table are in no particular order. The sequence ends at an error, [ErrRange] where an integer doesn't fit.
func FoldedRows(state *fold.State, c Catalog, tables []string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range c.having(tables) {
			d := newDecoder(r, c)
			for encoded, err := range r.encode(state, false, d.widths, r.name) {
				if err != nil {
					yield(Row{}, err)
					return
				}
				if !yield(d.row(encoded), nil) {
					return
				}
			}
		}
	}
}

// StoredRows yields the rows of some tables that belong to some phone systems; [uuid.Nil] stands for rows of no single system. The rows
// of a table are in no particular order. Tables are read one after the other, so conn should be in a transaction with a snapshot; it is
// busy until the sequence ends. A caller that stops early waits for the rest of the table. The sequence ends at an error.
func StoredRows(ctx context.Context, conn *pgx.Conn, c Catalog, tables []string, systems []uuid.UUID) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range c.having(tables) {
			for _, statement := range c.copyStatements(r, systems) {
				out := &copyOut{decoder: newDecoder(r, c), yield: yield}
				_, err := conn.PgConn().CopyTo(ctx, out, statement)
				if err == nil {
					err = out.checkEnd()
				}
				if out.stopped {
					return
				}
				if err != nil {
					yield(Row{}, fmt.Errorf("%s: %w", r.name, err))
					return
				}
			}
		}
	}
}

// copyStatements copy the systems' rows out of a table: a statement for each of their partitions, or one for all where the schema has no
// partitions.
func (c Catalog) copyStatements(r relation, systems []uuid.UUID) (statements []string) {
	statement := fmt.Sprintf("copy (select %s from %s%s %%s) to stdout (format binary)", c.columns(r), c.prefix, r.name)
	if r.ofNoSystem() {
		if slices.Contains(systems, uuid.Nil) {
			statements = append(statements, fmt.Sprintf(statement, ""))
		}
		return statements
	}
	for _, of := range c.byPartition(r, systems) {
		ids := make([]string, len(of.systems))
		for i, id := range of.systems {
			ids[i] = id.String()
		}
		statements = append(statements, fmt.Sprintf(statement,
			fmt.Sprintf("where %s%s = any ('{%s}'::uuid[])", of.condition, r.columns[r.system()], strings.Join(ids, ","))))
	}
	return statements
}

// partitionSystems are phone systems whose rows lie in one partition, and the condition on it, ending with "and"; empty: there are no
// partitions.
type partitionSystems struct {
	condition string
	systems   []uuid.UUID
}

// byPartition divides phone systems by the partition of their rows in a table.
func (c Catalog) byPartition(r relation, systems []uuid.UUID) (list []partitionSystems) {
	if !c.hasPartitions(r) {
		return []partitionSystems{{"", systems}}
	}
	of := make([][]uuid.UUID, c.partitions)
	for _, system := range systems {
		partition := events.Partition(system, c.partitions)
		of[partition] = append(of[partition], system)
	}
	for partition, systems := range of {
		if len(systems) > 0 {
			list = append(list, partitionSystems{fmt.Sprintf("%s = %d and ", partitionColumn, partition), systems})
		}
	}
	return list
}

// decoder splits the encoded rows of a table into fields.
type decoder struct {
	relation
	widths  []int16
	present int // how many columns the schema has
	fields  [][]byte
}

func newDecoder(r relation, c Catalog) *decoder {
	d := &decoder{relation: r, widths: c.widths[r.name], fields: make([][]byte, len(r.columns))}
	for _, width := range d.widths {
		if width != 0 {
			d.present++
		}
	}
	return d
}

// row splits an encoded row, which follows the table's name. Its lengths must have been checked.
func (d *decoder) row(encoded []byte) Row {
	row := Row{Table: d.name, Fields: d.fields, relation: &d.relation, encoded: encoded}
	begin := len(d.name) + 2
	end := begin
	for i, width := range d.widths {
		d.fields[i] = nil
		if width != 0 {
			n := int(int32(binary.BigEndian.Uint32(encoded[end:])))
			end += 4
			if n >= 0 {
				d.fields[i] = encoded[end : end+n : end+n]
				end += n
			}
		}
		if i == d.key-1 {
			row.Key = encoded[begin:end:end]
		}
	}
	if !d.ofNoSystem() {
		copy(row.System[:], d.fields[d.system()])
	}
	return row
}

// Digest identifies a set of rows, whatever their order: their number, their size, and the sum of the first 128 bits of their SHA-256. Two
// sets are equal if their digests compare with ==. The zero Digest is that of no rows.
type Digest struct {
	Rows  int64
	Bytes int64    // of all rows
	Sum   [16]byte // big endian
}

// Add adds a row.
func (d *Digest) Add(row Row) {
	hash := sha256.Sum256(row.encoded)
	low, carry := bits.Add64(binary.BigEndian.Uint64(d.Sum[8:]), binary.BigEndian.Uint64(hash[8:16]), 0)
	high, _ := bits.Add64(binary.BigEndian.Uint64(d.Sum[:8]), binary.BigEndian.Uint64(hash[:8]), carry)
	binary.BigEndian.PutUint64(d.Sum[8:], low)
	binary.BigEndian.PutUint64(d.Sum[:8], high)
	d.Rows++
	d.Bytes += int64(len(row.encoded))
}

// Equal tells whether the two identify the same set.
func (d Digest) Equal(other Digest) bool { return d == other }
