package encode

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

// RowWriter writes a page's rows as JSON objects with commas between them. A row costs no allocation while the body has room.
type RowWriter struct {
	System uuid.UUID
	Body   []byte // with what was in it before the rows
	Count  int    // rows in the body
	Names  Names  // for members that are names and labels; set after Begin

	table *Layout
	start int // where the rows begin in the body
	last  int // where the last row begins, with its comma
	err   error
}

// NewRowWriter returns a writer that appends rows of a phone system to the body.
func NewRowWriter(t *Layout, system uuid.UUID, body []byte) *RowWriter {
	return &RowWriter{System: system, Body: body, table: t, start: len(body)}
}

// Begin begins the rows of a statement. It removes those that were appended before: a statement that is run again gives all of its rows
// again. It returns an error if the columns are not of the table's types.
func (r *RowWriter) Begin(columns []pgconn.FieldDescription) error {
	r.Body, r.Count, r.err = r.Body[:r.start], 0, nil
	return r.table.check(columns)
}

// Append appends a row. Its columns are not used after it returns. It returns the error of a value that JSON can't represent.
func (r *RowWriter) Append(columns [][]byte) error {
	r.last = len(r.Body)
	if r.Count > 0 {
		r.Body = append(r.Body, ',')
	}
	r.Count++
	r.Body = r.table.append(r.Body, r, columns)
	return r.err
}

// Remove removes the row that was appended last. It is called once at most after each Append.
func (r *RowWriter) Remove() {
	r.Body = r.Body[:r.last]
	r.Count--
}
