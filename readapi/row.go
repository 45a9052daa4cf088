package readapi

import "github.com/jackc/pgx/v5/pgtype"

// field is a member of a body's rows: its name and the kind of its column. An operation's fields are in the order of its
// statement's columns.
type field struct {
	name string
	kind kind
}

// kind returns the variable that a column is scanned into, and the function that appends it as JSON. NULL becomes null.
type kind func(*request) (target any, write func([]byte) []byte)

// row is a JSON object that is scanned and appended again for each row.
type row struct {
	fields  []field
	targets []any
	writes  []func([]byte) []byte
}

func newRow(q *request, fields []field) *row {
	r := &row{fields: fields}
	for _, f := range fields {
		target, write := f.kind(q)
		r.targets, r.writes = append(r.targets, target), append(r.writes, write)
	}
	return r
}

func (r *row) append(b []byte) []byte {
	for i, f := range r.fields {
		b = append(b, separator(i, "{")...)
		b = append(b, '"')
		b = append(b, f.name...)
		b = append(b, '"', ':')
		b = r.writes[i](b)
	}
	return append(b, '}')
}

func text(*request) (any, func([]byte) []byte) {
	v := new(pgtype.Text)
	return v, func(b []byte) []byte { return appendNullText(b, *v) }
}

func integer(*request) (any, func([]byte) []byte) {
	v := new(pgtype.Int4)
	return v, func(b []byte) []byte { return appendNullInt(b, *v) }
}

func boolean(*request) (any, func([]byte) []byte) {
	v := new(pgtype.Bool)
	return v, func(b []byte) []byte { return appendNullBool(b, *v) }
}

func dateTime(*request) (any, func([]byte) []byte) {
	v := new(pgtype.Timestamptz)
	return v, func(b []byte) []byte { return appendNullTime(b, *v) }
}

func identifier(*request) (any, func([]byte) []byte) {
	v := new(pgtype.UUID)
	return v, func(b []byte) []byte { return appendNullUUID(b, *v) }
}

// storedJSON is appended byte for byte as it is stored.
func storedJSON(*request) (any, func([]byte) []byte) {
	v := new([]byte)
	return v, func(b []byte) []byte { return appendNullJSON(b, *v) }
}

// reference is a typed reference within the phone system. Its column is the identifier.
func reference(to string) kind {
	return func(q *request) (any, func([]byte) []byte) {
		v := new(pgtype.UUID)
		return v, func(b []byte) []byte {
			if !v.Valid {
				return append(b, "null"...)
			}
			b = append(b, `{"type":`...)
			b = appendString(b, to)
			b = append(b, `,"id":`...)
			b = appendUUID(b, v.Bytes)
			b = append(b, `,"phoneSystemId":`...)
			b = appendUUID(b, q.system)
			return append(b, '}')
		}
	}
}
