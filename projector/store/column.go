package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/events"
)

// column is one column of a table whose rows are R: how a batch of rows becomes an array parameter, how a row is scanned and
// how its value is copied, compared and shown.
type column[R any] struct {
	name    string
	array   string // the parameter's type, without []
	write   string // an expression over the array's element, where it isn't the element itself; %s stands for it
	read    string // an expression over the column, likewise
	bind    func(rows []R) any
	scan    func(row *R) any
	encode  encoder[R]
	show    func(value []byte) string
	compare func(a, b *R) int // nil where the column is in no key
}

// bindAs makes an array parameter of one field of every row.
func bindAs[R, F, P any](field func(*R) *F, encode func(F) P) func([]R) any {
	return func(rows []R) any {
		values := make([]P, len(rows))
		for i := range rows {
			values[i] = encode(*field(&rows[i]))
		}
		return values
	}
}

func same[T any](v T) T { return v }

func compareAs[R, F any](field func(*R) *F, compare func(a, b F) int) func(a, b *R) int {
	return func(a, b *R) int { return compare(*field(a), *field(b)) }
}

func compareUUID(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

func textColumn[R any, S ~string](name string, field func(*R) *S) column[R] {
	return column[R]{
		name: name, array: "text",
		bind:    bindAs(field, plain[S]),
		scan:    func(row *R) any { return field(row) },
		encode:  encodeAs(field, appendText[S]),
		show:    showText,
		compare: compareAs(field, cmp.Compare[S]),
	}
}

func nullTextColumn[R any](name string, field func(*R) *events.Null[string]) column[R] {
	return column[R]{
		name: name, array: "text",
		bind:   bindAs(field, func(n events.Null[string]) pgtype.Text { return pgtype.Text{String: n.Value, Valid: n.Valid} }),
		scan:   func(row *R) any { return (*nullText)(field(row)) },
		encode: encodeAs(field, orNull(appendText[string])),
		show:   showText,
	}
}

// asJSON stores a text column as json, byte for byte.
func asJSON[R any](c column[R]) column[R] {
	c.write, c.read, c.show = "%s::json", "%s::text", showJSON
	return c
}

func uuidColumn[R any](name string, field func(*R) *uuid.UUID) column[R] {
	return column[R]{
		name: name, array: "uuid",
		bind:    bindAs(field, pgUUID),
		scan:    func(row *R) any { return (*[16]byte)(field(row)) },
		encode:  encodeAs(field, appendUUID),
		show:    showUUID,
		compare: compareAs(field, compareUUID),
	}
}

func nullUUIDColumn[R any](name string, field func(*R) *events.Null[uuid.UUID]) column[R] {
	return column[R]{
		name: name, array: "uuid",
		bind:   bindAs(field, func(n events.Null[uuid.UUID]) pgtype.UUID { return pgtype.UUID{Bytes: n.Value, Valid: n.Valid} }),
		scan:   func(row *R) any { return (*nullUUID)(field(row)) },
		encode: encodeAs(field, orNull(appendUUID)),
		show:   showUUID,
	}
}

func intColumn[R any, I ~int64 | ~int16](name string, field func(*R) *I) column[R] {
	return column[R]{
		name: name, array: "bigint",
		bind: bindAs(field, func(i I) int64 { return int64(i) }),
		scan: func(row *R) any { return field(row) },
		encode: func(dst []byte, row *R, width int16) ([]byte, error) {
			return appendInt(dst, int64(*field(row)), width)
		},
		show:    showInt,
		compare: compareAs(field, cmp.Compare[I]),
	}
}

func nullIntColumn[R any](name string, field func(*R) *events.Null[int64]) column[R] {
	return column[R]{
		name: name, array: "bigint",
		bind: bindAs(field, func(n events.Null[int64]) pgtype.Int8 { return pgtype.Int8{Int64: n.Value, Valid: n.Valid} }),
		scan: func(row *R) any { return (*nullInt)(field(row)) },
		encode: func(dst []byte, row *R, width int16) ([]byte, error) {
			if n := field(row); n.Valid {
				return appendInt(dst, n.Value, width)
			}
			return appendNull(dst), nil
		},
		show: showInt,
	}
}

func nullFloatColumn[R any](name string, field func(*R) *events.Null[float64]) column[R] {
	return column[R]{
		name: name, array: "double precision",
		bind:   bindAs(field, func(n events.Null[float64]) pgtype.Float8 { return pgtype.Float8{Float64: n.Value, Valid: n.Valid} }),
		scan:   func(row *R) any { return (*nullFloat)(field(row)) },
		encode: encodeAs(field, orNull(appendFloat)),
		show:   showFloat,
	}
}

func boolColumn[R any](name string, field func(*R) *bool) column[R] {
	return column[R]{
		name: name, array: "boolean",
		bind:   bindAs(field, same[bool]),
		scan:   func(row *R) any { return field(row) },
		encode: encodeAs(field, appendBool),
		show:   showBool,
	}
}

func timeColumn[R any](name string, field func(*R) *events.Time) column[R] {
	return column[R]{
		name: name, array: "timestamptz",
		bind:    bindAs(field, timestamp),
		scan:    func(row *R) any { return (*instant)(field(row)) },
		encode:  encodeAs(field, appendTime),
		show:    showTime,
		compare: compareAs(field, cmp.Compare[events.Time]),
	}
}

func nullTimeColumn[R any](name string, field func(*R) *events.Null[events.Time]) column[R] {
	return column[R]{
		name: name, array: "timestamptz",
		bind: bindAs(field, func(n events.Null[events.Time]) pgtype.Timestamptz {
			if !n.Valid {
				return pgtype.Timestamptz{}
			}
			return timestamp(n.Value)
		}),
		scan:   func(row *R) any { return (*nullInstant)(field(row)) },
		encode: encodeAs(field, orNull(appendTime)),
		show:   showTime,
	}
}

func digestColumn[R any](name string, field func(*R) *events.Null[[sha256.Size]byte]) column[R] {
	return column[R]{
		name: name, array: "bytea",
		bind: bindAs(field, func(n events.Null[[sha256.Size]byte]) []byte {
			if !n.Valid {
				return nil
			}
			return n.Value[:]
		}),
		scan:   func(row *R) any { return (*nullDigest)(field(row)) },
		encode: encodeAs(field, orNull(appendDigest)),
		show:   showBytes,
	}
}

// dateColumn holds the day of an instant. It is never loaded.
func dateColumn[R any](name string, field func(*R) *events.Time) column[R] {
	return column[R]{
		name: name, array: "date",
		bind:    bindAs(field, events.Time.Std),
		encode:  encodeAs(field, appendDate),
		show:    showDate,
		compare: compareAs(field, cmp.Compare[events.Time]),
	}
}

// uuidListColumn stores UUIDs that the row holds as text, separated by commas.
func uuidListColumn[R any](name string, field func(*R) *string) column[R] {
	return column[R]{
		name: name, array: "text", write: "string_to_array(%s, ',')::uuid[]", read: "array_to_string(%s, ',')",
		bind:   bindAs(field, same[string]),
		scan:   func(row *R) any { return field(row) },
		encode: func(dst []byte, row *R, _ int16) ([]byte, error) { return appendUUIDList(dst, *field(row)) },
		show:   showUUIDList,
	}
}
