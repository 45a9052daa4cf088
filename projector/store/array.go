package store

import (
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// array is an array parameter. Its elements are encoded straight into pgx's message, without a Go value for each of
// them. The rows must not change until the statement is sent.
type array struct {
	element        string // the type of the elements, as pg_type names it
	count          int
	appendElements func(dst []byte) []byte
}

// arrays returns count rows as one array per column.
func arrays[R any](columns []column, count int, rows iter.Seq[*R]) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = array{c.array, count, func(dst []byte) []byte {
			for row := range rows {
				dst = c.encode(dst, c.field(reflect.ValueOf(row).Elem()))
			}
			return dst
		}}
	}
	return list
}

// arrayCodec encodes an [array], and other values like the codec that it replaces.
type arrayCodec struct{ *pgtype.ArrayCodec }

// PlanEncode implements [pgtype.Codec].
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(array); !ok {
		return c.ArrayCodec.PlanEncode(m, oid, format, value)
	}
	if format != pgtype.BinaryFormatCode {
		return nil
	}
	return arrayPlan{c.ElementType}
}

// arrayPlan encodes arrays for a parameter whose elements have a type.
type arrayPlan struct{ element *pgtype.Type }

// Encode implements [pgtype.EncodePlan].
func (p arrayPlan) Encode(value any, dst []byte) ([]byte, error) {
	a, ok := value.(array)
	if !ok || a.element != p.element.Name {
		return nil, fmt.Errorf("the parameter is an array of %s, its argument one of %s", p.element.Name, a.element)
	}
	const header, typical = 20, 20 // bytes; typical is an element with its length
	return a.appendElements(appendArrayHeader(slices.Grow(dst, header+typical*a.count), p.element.OID, a.count)), nil
}

// registerArrays lets a connection encode each [array], once.
func registerArrays(m *pgtype.Map) {
	for _, name := range []string{"_bool", "_bytea", "_date", "_float8", "_int8", "_text", "_timestamptz", "_uuid"} {
		t, _ := m.TypeForName(name)
		if codec, ok := t.Codec.(*pgtype.ArrayCodec); ok {
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: t.OID, Codec: arrayCodec{codec}})
		}
	}
}

// pointers yields the elements of a slice.
func pointers[R any](rows []R) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}
