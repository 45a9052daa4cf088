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

	encoded []byte // the table's name, then the row as COPY has it
}

// Bytes is the size of the row as COPY has it.
func (r Row) Bytes() int { return len(r.encoded) - len(r.Table) }

// framing takes encoded rows of a table apart.
type framing struct {
	relation
	widths  []int16
	present int // how many columns are there
	fields  [][]byte
}

func newFraming(r relation, shape Shape) *framing {
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
	row := Row{Table: f.name, Fields: f.fields, encoded: encoded}
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
