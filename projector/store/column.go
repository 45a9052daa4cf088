package store

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
)

// column is a column of a table whose rows are R: how a value is scanned, and encoded as an element of an array parameter.
type column[R any] struct {
	name   string
	array  string // the element type of its array parameter, as pg_type names it
	write  string // an expression over the array's element, with the verb %s; empty: the element
	read   string // an expression over the column, with the verb %s; empty: the column
	scan   func(row *R) any
	encode encoder[R]
}

func textColumn[R any, S ~string](name string, field func(*R) *S) column[R] {
	return column[R]{
		name: name, array: "text",
		scan:   func(row *R) any { return field(row) },
		encode: encodeAs(field, appendText[S]),
	}
}

func nullTextColumn[R any](name string, field func(*R) *events.Null[string]) column[R] {
	return column[R]{
		name: name, array: "text",
		scan:   func(row *R) any { return (*nullText)(field(row)) },
		encode: encodeAs(field, orNull(appendText[string])),
	}
}

// asJSON stores a text column as json, byte for byte.
func asJSON[R any](c column[R]) column[R] {
	c.write, c.read = "%s::json", "%s::text"
	return c
}

func uuidColumn[R any](name string, field func(*R) *uuid.UUID) column[R] {
	return column[R]{
		name: name, array: "uuid",
		scan:   func(row *R) any { return (*[16]byte)(field(row)) },
		encode: encodeAs(field, appendUUID),
	}
}

func nullUUIDColumn[R any](name string, field func(*R) *events.Null[uuid.UUID]) column[R] {
	return column[R]{
		name: name, array: "uuid",
		scan:   func(row *R) any { return (*nullUUID)(field(row)) },
		encode: encodeAs(field, orNull(appendUUID)),
	}
}

func intColumn[R any, I ~int64 | ~int16](name string, field func(*R) *I) column[R] {
	return column[R]{
		name: name, array: "int8",
		scan:   func(row *R) any { return field(row) },
		encode: func(dst []byte, row *R) []byte { return appendInt(dst, int64(*field(row))) },
	}
}

func nullIntColumn[R any](name string, field func(*R) *events.Null[int64]) column[R] {
	return column[R]{
		name: name, array: "int8",
		scan:   func(row *R) any { return (*nullInt)(field(row)) },
		encode: encodeAs(field, orNull(appendInt)),
	}
}

func nullFloatColumn[R any](name string, field func(*R) *events.Null[float64]) column[R] {
	return column[R]{
		name: name, array: "float8",
		scan:   func(row *R) any { return (*nullFloat)(field(row)) },
		encode: encodeAs(field, orNull(appendFloat)),
	}
}

func boolColumn[R any](name string, field func(*R) *bool) column[R] {
	return column[R]{
		name: name, array: "bool",
		scan:   func(row *R) any { return field(row) },
		encode: encodeAs(field, appendBool),
	}
}

func timeColumn[R any](name string, field func(*R) *events.Time) column[R] {
	return column[R]{
		name: name, array: "timestamptz",
		scan:   func(row *R) any { return (*instant)(field(row)) },
		encode: encodeAs(field, appendTime),
	}
}

func nullTimeColumn[R any](name string, field func(*R) *events.Null[events.Time]) column[R] {
	return column[R]{
		name: name, array: "timestamptz",
		scan:   func(row *R) any { return (*nullInstant)(field(row)) },
		encode: encodeAs(field, orNull(appendTime)),
	}
}

func digestColumn[R any](name string, field func(*R) *events.Null[[sha256.Size]byte]) column[R] {
	return column[R]{
		name: name, array: "bytea",
		scan:   func(row *R) any { return (*nullDigest)(field(row)) },
		encode: encodeAs(field, orNull(appendDigest)),
	}
}

// dateColumn is the day of an instant. It can't be loaded.
func dateColumn[R any](name string, field func(*R) *events.Time) column[R] {
	return column[R]{
		name: name, array: "date",
		encode: encodeAs(field, appendDate),
	}
}

// uuidListColumn stores UUIDs as an array. The row has them as text, separated by commas.
func uuidListColumn[R any](name string, field func(*R) *string) column[R] {
	return column[R]{
		name: name, array: "text", write: "string_to_array(%s, ',')::uuid[]", read: "array_to_string(%s, ',')",
		scan:   func(row *R) any { return field(row) },
		encode: encodeAs(field, appendText[string]),
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
