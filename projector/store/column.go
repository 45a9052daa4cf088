package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
)

// column is a column of a table whose rows are R: how a value is scanned, encoded for COPY and for an array parameter, compared and
// formatted.
type column[R any] struct {
	name    string
	array   string // the element type of its array parameter, as pg_type names it
	write   string // an expression over the array's element, with the verb %s; empty: the element
	read    string // an expression over the column, with the verb %s; empty: the column
	scan    func(row *R) any
	encode  encoder[R]
	element encoder[R] // for the array parameter; nil: encode
	format  func(value []byte) string

	// compare orders values in PostgreSQL's binary format. It is nil where the column is in no key.
	compare func(a, b []byte) int
}

// orderBy is an expression that orders rows like compare. Texts have the order of their bytes, whatever the database's collation is.
func (c column[R]) orderBy() string {
	if c.array == "text" {
		return c.name + ` collate "C"`
	}
	return c.name
}

// compareSigned compares integers of equal width, such as days and microseconds since 2000.
func compareSigned(a, b []byte) int {
	if len(a) > 0 && len(b) > 0 && (a[0]^b[0])&0x80 != 0 {
		return cmp.Compare(b[0], a[0]) // the sign is the highest bit
	}
	return bytes.Compare(a, b)
}

func textColumn[R any, S ~string](name string, field func(*R) *S) column[R] {
	return column[R]{
		name: name, array: "text",
		scan:    func(row *R) any { return field(row) },
		encode:  encodeAs(field, appendText[S]),
		format:  formatText,
		compare: bytes.Compare,
	}
}

func nullTextColumn[R any](name string, field func(*R) *events.Null[string]) column[R] {
	return column[R]{
		name: name, array: "text",
		scan:   func(row *R) any { return (*nullText)(field(row)) },
		encode: encodeAs(field, orNull(appendText[string])),
		format: formatText,
	}
}

// asJSON stores a text column as json, byte for byte.
func asJSON[R any](c column[R]) column[R] {
	c.write, c.read, c.format = "%s::json", "%s::text", formatJSON
	return c
}

func uuidColumn[R any](name string, field func(*R) *uuid.UUID) column[R] {
	return column[R]{
		name: name, array: "uuid",
		scan:    func(row *R) any { return (*[16]byte)(field(row)) },
		encode:  encodeAs(field, appendUUID),
		format:  formatUUID,
		compare: bytes.Compare,
	}
}

func nullUUIDColumn[R any](name string, field func(*R) *events.Null[uuid.UUID]) column[R] {
	return column[R]{
		name: name, array: "uuid",
		scan:   func(row *R) any { return (*nullUUID)(field(row)) },
		encode: encodeAs(field, orNull(appendUUID)),
		format: formatUUID,
	}
}

func intColumn[R any, I ~int64 | ~int16](name string, field func(*R) *I) column[R] {
	return column[R]{
		name: name, array: "int8",
		scan: func(row *R) any { return field(row) },
		encode: func(dst []byte, row *R, width int16) ([]byte, error) {
			return appendInt(dst, int64(*field(row)), width)
		},
		format:  formatInt,
		compare: compareSigned,
	}
}

func nullIntColumn[R any](name string, field func(*R) *events.Null[int64]) column[R] {
	return column[R]{
		name: name, array: "int8",
		scan: func(row *R) any { return (*nullInt)(field(row)) },
		encode: func(dst []byte, row *R, width int16) ([]byte, error) {
			if n := field(row); n.Valid {
				return appendInt(dst, n.Value, width)
			}
			return appendNull(dst), nil
		},
		format: formatInt,
	}
}

func nullFloatColumn[R any](name string, field func(*R) *events.Null[float64]) column[R] {
	return column[R]{
		name: name, array: "float8",
		scan:   func(row *R) any { return (*nullFloat)(field(row)) },
		encode: encodeAs(field, orNull(appendFloat)),
		format: formatFloat,
	}
}

func boolColumn[R any](name string, field func(*R) *bool) column[R] {
	return column[R]{
		name: name, array: "bool",
		scan:   func(row *R) any { return field(row) },
		encode: encodeAs(field, appendBool),
		format: formatBool,
	}
}

func timeColumn[R any](name string, field func(*R) *events.Time) column[R] {
	return column[R]{
		name: name, array: "timestamptz",
		scan:    func(row *R) any { return (*instant)(field(row)) },
		encode:  encodeAs(field, appendTime),
		format:  formatTime,
		compare: compareSigned,
	}
}

func nullTimeColumn[R any](name string, field func(*R) *events.Null[events.Time]) column[R] {
	return column[R]{
		name: name, array: "timestamptz",
		scan:   func(row *R) any { return (*nullInstant)(field(row)) },
		encode: encodeAs(field, orNull(appendTime)),
		format: formatTime,
	}
}

func digestColumn[R any](name string, field func(*R) *events.Null[[sha256.Size]byte]) column[R] {
	return column[R]{
		name: name, array: "bytea",
		scan:   func(row *R) any { return (*nullDigest)(field(row)) },
		encode: encodeAs(field, orNull(appendDigest)),
		format: formatBytes,
	}
}

// dateColumn is the day of an instant. It can't be loaded.
func dateColumn[R any](name string, field func(*R) *events.Time) column[R] {
	return column[R]{
		name: name, array: "date",
		encode:  encodeAs(field, appendDate),
		format:  formatDate,
		compare: compareSigned,
	}
}

// uuidListColumn stores UUIDs as an array. The row has them as text, separated by commas.
func uuidListColumn[R any](name string, field func(*R) *string) column[R] {
	return column[R]{
		name: name, array: "text", write: "string_to_array(%s, ',')::uuid[]", read: "array_to_string(%s, ',')",
		scan:    func(row *R) any { return field(row) },
		encode:  func(dst []byte, row *R, _ int16) ([]byte, error) { return appendUUIDList(dst, *field(row)) },
		element: encodeAs(field, appendText[string]),
		format:  formatUUIDList,
	}
}

// These types scan a nullable column into a row's field.
type (
	nullText    events.Null[string]
	nullUUID    events.Null[uuid.UUID]
	nullInt     events.Null[int64]
	nullFloat   events.Null[float64]
	nullInstant events.Null[events.Time]
	nullDigest  events.Null[[sha256.Size]byte]
	instant     events.Time
)

// ScanText implements [pgtype.TextScanner].
func (n *nullText) ScanText(v pgtype.Text) error {
	*n = nullText{Value: v.String, Valid: v.Valid}
	return nil
}

// ScanUUID implements [pgtype.UUIDScanner].
func (n *nullUUID) ScanUUID(v pgtype.UUID) error {
	*n = nullUUID{Value: v.Bytes, Valid: v.Valid}
	return nil
}

// ScanInt64 implements [pgtype.Int64Scanner].
func (n *nullInt) ScanInt64(v pgtype.Int8) error {
	*n = nullInt{Value: v.Int64, Valid: v.Valid}
	return nil
}

// ScanFloat64 implements [pgtype.Float64Scanner].
func (n *nullFloat) ScanFloat64(v pgtype.Float8) error {
	*n = nullFloat{Value: v.Float64, Valid: v.Valid}
	return nil
}

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (t *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = instant(events.TimeOf(v.Time))
	return nil
}

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (n *nullInstant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*n = nullInstant{Valid: v.Valid}
	if v.Valid {
		n.Value = events.TimeOf(v.Time)
	}
	return nil
}

// ScanBytes implements [pgtype.BytesScanner].
func (n *nullDigest) ScanBytes(v []byte) error {
	*n = nullDigest{Valid: v != nil}
	if v != nil && len(v) != sha256.Size {
		return fmt.Errorf("a digest of %d bytes", len(v))
	}
	copy(n.Value[:], v)
	return nil
}

func timestamp(t events.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t.Std(), Valid: true}
}
