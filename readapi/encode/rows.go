package encode

import (
	"math"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

// RowWriter writes a page's rows as JSON objects with commas between them. A row costs no allocation while the body has
// room.
type RowWriter struct {
	System uuid.UUID
	Body   []byte // with what was in it before the rows
	Count  int    // rows in the body
	Names  Names  // for members that are names and labels; set after Begin

	// Room is the number of bytes that the body should not exceed. Texts, JSON, names and labels that do not fit are
	// left out, so that no body takes more memory than there is for it. LeftOut is the number of their bytes. Above 0,
	// the body is of no use: only its size is known.
	Room, LeftOut int

	table  *Layout
	start  int // where the rows begin in the body
	last   int // where the last row begins, with its comma
	before int // LeftOut before the last row
	err    error
}

// NewRowWriter returns a writer that appends rows of a phone system to the body, which has room for all of them.
func NewRowWriter(t *Layout, system uuid.UUID, body []byte) *RowWriter {
	return &RowWriter{System: system, Body: body, Room: math.MaxInt, table: t, start: len(body)}
}

// Begin begins the rows of a statement. It removes those that were appended before: a statement that is run again gives
// all of its rows again. It returns an error if the columns are not of the table's types.
func (r *RowWriter) Begin(columns []pgconn.FieldDescription) error {
	r.Body, r.Count, r.LeftOut, r.err = r.Body[:r.start], 0, 0, nil
	return r.table.check(columns)
}

// Append appends a row. Its columns are not used after it returns. It returns the error of a value that JSON can't
// represent.
func (r *RowWriter) Append(columns [][]byte) error {
	r.last, r.before = len(r.Body), r.LeftOut
	if r.Count > 0 {
		r.Body = append(r.Body, ',')
	}
	r.Count++
	r.Body = r.table.append(r.Body, r, columns)
	return r.err
}

// Remove removes the row that was appended last. It is called once at most after each Append.
func (r *RowWriter) Remove() {
	r.Body, r.LeftOut = r.Body[:r.last], r.before
	r.Count--
}

// fits reports whether a value has room in the body. Otherwise the value is to be left out, and is counted.
func (r *RowWriter) fits(b []byte, size int) bool {
	if len(b)+size <= r.Room {
		return true
	}
	r.LeftOut += size
	return false
}
