package store

import (
	"reflect"
	"strings"
	"unsafe"

	"callboard/events"
	"callboard/projector/fold"
)

// column is a column of a table, and the field of a row that it stores.
type column struct {
	kind
	name   string
	offset uintptr // of the field in the row
}

// field returns the address of the column's field in a row. Reflection on each value would take four times as long.
func (c column) field(row unsafe.Pointer) unsafe.Pointer { return unsafe.Add(row, c.offset) }

// kind is how fields of a type are stored. Its functions get the address of a field.
type kind struct {
	array  string // the element type of the array parameters, as pg_type names it
	write  string // an expression over an array's element, with the verb %s; empty: the element
	read   string // an expression over a column, with the verb %s; empty: the column
	encode func(dst []byte, field unsafe.Pointer) []byte

	// decode returns false where src is no value of the type. A null is nil.
	decode func(field unsafe.Pointer, src []byte) bool
}

// columnsOf returns the columns of the fields of a type, which is at an offset in the row. The tag of a field names its
// column. Where fields of a struct have no tags, the tag of the struct names their columns, in order, separated by commas.
func columnsOf(kinds map[reflect.Type]kind, t reflect.Type, tag string, offset uintptr) (columns []column) {
	if k, ok := kinds[t]; ok {
		name, _, _ := strings.Cut(tag, ",")
		return []column{{k, name, offset}}
	}
	for field := range t.Fields() {
		columns = append(columns, columnsOf(kinds, field.Type, field.Tag.Get("db"), offset+field.Offset)...)
	}
	for i := range columns {
		if columns[i].name == "" {
			columns[i].name, tag, _ = strings.Cut(tag, ",")
		}
	}
	return columns
}

// kinds returns the kinds of all types of fields.
func kinds() map[reflect.Type]kind {
	all := make(map[reflect.Type]kind)
	addKind(all, kind{array: "text"}, appendText[string], readText[string])
	addKind(all, kind{array: "text"}, appendText[events.Entity], readText[events.Entity])
	addKind(all, kind{array: "text", write: "%s::json", read: "%s::text"}, appendText[fold.JSON], readText[fold.JSON])
	addKind(all, kind{array: "text", write: "string_to_array(%s, ',')::uuid[]", read: "array_to_string(%s, ',')"},
		appendText[fold.IDList], readText[fold.IDList])
	addKind(all, kind{array: "uuid"}, appendUUID, readUUID)
	addKind(all, kind{array: "int8"}, appendInt, readInt)
	addKind(all, kind{array: "float8"}, appendFloat, readFloat)
	addKind(all, kind{array: "bool"}, appendBool, readBool)
	addKind(all, kind{array: "timestamptz"}, appendTime, readTime)
	addKind(all, kind{array: "date"}, appendDate, readDate)
	addKind(all, kind{array: "bytea"}, appendDigest, readDigest)
	return all
}

// addKind adds the kinds of F and of events.Null[F].
func addKind[F comparable](
	all map[reflect.Type]kind, k kind, encode func([]byte, F) []byte, decode func([]byte) (F, bool),
) {
	k.encode = func(dst []byte, field unsafe.Pointer) []byte { return encode(dst, *(*F)(field)) }
	k.decode = func(field unsafe.Pointer, src []byte) (ok bool) {
		*(*F)(field), ok = decode(src)
		return ok
	}
	all[reflect.TypeFor[F]()] = k

	k.encode = func(dst []byte, field unsafe.Pointer) []byte {
		if n := (*events.Null[F])(field); n.Valid {
			return encode(dst, n.Value)
		}
		return appendNull(dst)
	}
	k.decode = func(field unsafe.Pointer, src []byte) bool {
		if src == nil {
			return true // the row is new, so the field is null
		}
		n := (*events.Null[F])(field)
		n.Value, n.Valid = decode(src)
		return n.Valid
	}
	all[reflect.TypeFor[events.Null[F]]()] = k
}
