package store

import (
	"reflect"
	"slices"
	"strings"

	"callboard/events"
	"callboard/projector/fold"
)

// column is a column of a table, and the field of a row that it stores.
type column struct {
	kind
	name  string
	index []int // of the field in the row
}

// field returns a pointer to the column's field in a row.
func (c column) field(row reflect.Value) any {
	for _, i := range c.index {
		row = row.Field(i)
	}
	return row.Addr().Interface()
}

// kind is how fields of a type are stored. Its functions get a pointer to a field.
type kind struct {
	array  string // the element type of the array parameters, as pg_type names it
	write  string // an expression over an array's element, with the verb %s; empty: the element
	read   string // an expression over a column, with the verb %s; empty: the column
	encode func(dst []byte, field any) []byte

	// decode returns false where src is no value of the type. A null is nil.
	decode func(field any, src []byte) bool
}

// columnsOf returns the columns of the fields of a type, whose own index in the row is given. The tag of a field names
// its column. Where fields of a struct have no tags, the tag of the struct names their columns, in order, separated by
// commas.
func columnsOf(kinds map[reflect.Type]kind, t reflect.Type, tag string, index ...int) (columns []column) {
	if k, ok := kinds[t]; ok {
		name, _, _ := strings.Cut(tag, ",")
		return []column{{k, name, index}}
	}

	for field := range t.Fields() {
		columns = append(columns, columnsOf(kinds, field.Type, field.Tag.Get("db"), slices.Concat(index, field.Index)...)...)
	}

	// Fields without a tag take the names in their struct's tag.
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

	// JSON and lists of ids are sent and read as text.
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
	k.encode = func(dst []byte, field any) []byte { return encode(dst, *field.(*F)) }
	k.decode = func(field any, src []byte) (ok bool) {
		*field.(*F), ok = decode(src)
		return ok
	}
	all[reflect.TypeFor[F]()] = k

	// A nullable field is stored in the same way, or as null.
	k.encode = func(dst []byte, field any) []byte {
		if n := field.(*events.Null[F]); n.Valid {
			return encode(dst, n.Value)
		}
		return appendNull(dst)
	}

	k.decode = func(field any, src []byte) bool {
		if src == nil {
			return true // the row is new, so the field is null
		}
		n := field.(*events.Null[F])
		n.Value, n.Valid = decode(src)
		return n.Valid
	}
	all[reflect.TypeFor[events.Null[F]]()] = k
}
