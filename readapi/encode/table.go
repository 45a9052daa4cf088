package encode

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Layout is the members of a JSON object, in the order of a statement's columns. It is not changed after [NewLayout].
type Layout struct {
	members []member // none: the object is stored
	types   []uint32 // of all columns
}

// member is a [Member] as a row is written by it.
type member struct {
	Member
	opening string // up to the colon before its value
	column  int    // its first
}

// NewLayout returns the layout of the members, of which there is at least one.
func NewLayout(members ...Member) *Layout {
	t := new(Layout)
	opening := "{"
	for _, m := range members {
		t.members = append(t.members, member{m, opening + `"` + m.Name + `":`, len(t.types)})
		t.types = append(t.types, m.Types...)
		opening = ","
	}
	return t
}

// Stored returns the layout of rows whose first column is a JSON object, which is appended byte for byte. The columns
// of the other members are not written.
func Stored(unwritten ...Member) *Layout {
	t := &Layout{types: []uint32{pgtype.JSONOID}}
	for _, m := range unwritten {
		t.types = append(t.types, m.Types...)
	}
	return t
}

// check fails unless the columns are those of the table, by number and type. Text and JSON have the same bytes in both
// formats, and varchar has those of text.
func (t *Layout) check(columns []pgconn.FieldDescription) error {
	if len(columns) != len(t.types) {
		return fmt.Errorf("the statement has %d columns, want %d", len(columns), len(t.types))
	}

	for i := range columns {
		c, oid := &columns[i], t.types[i]
		binary := c.Format == pgtype.BinaryFormatCode || oid == pgtype.TextOID || oid == pgtype.JSONOID
		same := c.DataTypeOID == oid || c.DataTypeOID == pgtype.VarcharOID && oid == pgtype.TextOID
		if !same || !binary {
			return fmt.Errorf("column %s is of type %d in format %d, want type %d in the binary format", c.Name, c.DataTypeOID,
				c.Format, oid)
		}
	}
	return nil
}

func (t *Layout) append(b []byte, r *RowWriter, columns [][]byte) []byte {
	if len(t.members) == 0 {
		return appendJSON(b, r, columns)
	}
	for i := range t.members {
		m := &t.members[i]
		b = append(b, m.opening...)
		b = m.Append(b, r, columns[m.column:])
	}
	return append(b, '}')
}
