package store

import (
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"callboard/events"
)

// Row is a row of a table, folded or stored. Equal rows have equal fields. The fields are valid until the next row of the same sequence.
type Row struct {
	Table  string
	System uuid.UUID // [uuid.Nil]: the row belongs to no single system
	Fields [][]byte  // in PostgreSQL's binary format, in the order of Columns; nil: null, or a column that the schema lacks

	relation *relation
}

// Columns returns the names of the fields.
func (r Row) Columns() []string { return r.relation.columns }

// Time returns the time in a column; 0: the schema lacks the column, or it is null.
func (r Row) Time(column string) events.Time {
	i := slices.Index(r.relation.columns, column)
	if i < 0 || len(r.Fields[i]) != 8 {
		return 0
	}
	return events.Time(int64(binary.BigEndian.Uint64(r.Fields[i]))/1000 + epochMillis)
}

// Key returns the row's key. It is valid as long as the fields.
func (r Row) Key() Key { return r.Fields[r.relation.system():r.relation.key] }

// KeyColumns returns the names of the key's values.
func (r Row) KeyColumns() []string { return r.relation.columns[r.relation.system():r.relation.key] }

// FormatKey formats a value of the key like [Row.Format].
func (r Row) FormatKey(value int) string {
	field := r.relation.system() + value
	return r.Format(field, r.Fields[field])
}

// CompareKey orders the row before (-1) or after (1) a key of its table, or finds that it has the key (0). PostgreSQL orders rows in the
// same way.
func (r Row) CompareKey(key Key) int {
	for i, value := range r.Key() {
		if by := r.relation.order[i](value, key[i]); by != 0 {
			return by
		}
	}
	return 0
}

// Key are the values of a row's primary key in PostgreSQL's binary format, without the partition, which follows from the phone system.
type Key [][]byte

// Clone returns a copy that outlives the row. It reuses the memory of an older copy, which can be nil.
func (k Key) Clone(older Key) Key {
	if older == nil {
		older = make(Key, len(k))
	}
	for i, value := range k {
		if older[i] == nil {
			older[i] = []byte{} // an empty text is not null
		}
		older[i] = append(older[i][:0], value...)
	}
	return older
}

// decoder splits the rows of a table into fields.
type decoder struct {
	relation
	widths []int16
	fields [][]byte
}

func newDecoder(r relation, c Catalog) *decoder {
	return &decoder{relation: r, widths: c.widths[r.name], fields: make([][]byte, len(r.columns))}
}

// encodedRow splits a row that is encoded for COPY.
func (d *decoder) encodedRow(encoded []byte) Row {
	rest := encoded[2:] // after the number of columns
	return d.row(func() (value []byte) {
		n := int(int32(binary.BigEndian.Uint32(rest)))
		if rest = rest[4:]; n >= 0 {
			value, rest = rest[:n:n], rest[n:]
		}
		return value
	})
}

// storedRow takes a row of those columns that the schema has.
func (d *decoder) storedRow(values [][]byte) Row {
	return d.row(func() (value []byte) {
		value, values = values[0], values[1:]
		return value
	})
}

// row takes a row whose values next returns, one for each column that the schema has.
func (d *decoder) row(next func() []byte) Row {
	for i, width := range d.widths {
		d.fields[i] = nil
		if width != 0 {
			d.fields[i] = next()
		}
	}
	row := Row{Table: d.name, Fields: d.fields, relation: &d.relation}
	if !d.ofNoSystem() {
		copy(row.System[:], d.fields[d.system()])
	}
	return row
}
