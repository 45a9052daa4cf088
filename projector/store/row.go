package store

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// Row is a row of a table, folded or stored: the same bytes where the two are equal. They are valid until the next row.
type Row struct {
	Table  string
	System uuid.UUID // [uuid.Nil]: it belongs to no single system
	Key    []byte    // the key's columns, each behind its length
	Fields [][]byte  // in the order of Columns; nil is null, or a column that isn't there

	relation *relation
	encoded  []byte // the table's name, then the row as COPY has it
}

// Columns are the names of the fields.
func (r Row) Columns() []string { return r.relation.columns }

// Keys is how many of the fields, the first, are the key.
func (r Row) KeyColumns() int { return r.relation.key }

// Show is a field's value, of this row or of another of the table, as text for people; [Show] says how.
func (r Row) Format(field int, value []byte) string {
	if value == nil {
		return "null"
	}
	return r.relation.show[field](value)
}

// Bytes is the size of the row as COPY has it.
func (r Row) Size() int { return len(r.encoded) - len(r.Table) }

// framing takes encoded rows of a table apart.
type framing struct {
	relation
	widths  []int16
	present int // how many columns are there
	fields  [][]byte
}

func newFraming(r relation, shape Catalog) *framing {
	f := &framing{relation: r, widths: shape.widths[r.name], fields: make([][]byte, len(r.columns))}
	for _, width := range f.widths {
		if width != 0 {
			f.present++
		}
	}
	return f
}

// row takes an encoded row apart, behind the table's name. Its lengths are known to be right.
func (f *framing) row(encoded []byte) Row {
	row := Row{Table: f.name, Fields: f.fields, relation: &f.relation, encoded: encoded}
	begin := len(f.name) + 2
	end := begin
	for i, width := range f.widths {
		f.fields[i] = nil
		if width != 0 {
			n := int(int32(binary.BigEndian.Uint32(encoded[end:])))
			end += 4
			if n >= 0 {
				f.fields[i] = encoded[end : end+n : end+n]
				end += n
			}
		}
		if i == f.key-1 {
			row.Key = encoded[begin:end:end]
		}
	}
	if !f.global() {
		copy(row.System[:], f.fields[0])
	}
	return row
}
