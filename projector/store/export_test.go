package store

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// RegisterArrays lets a connection send the arguments that a batch's statements were recorded with.
func RegisterArrays(conn *pgx.Conn) { registerArrays(conn.TypeMap()) }

// EncodeArray encodes an array parameter of a type whose elements are named like another one.
func EncodeArray(m *pgtype.Map, oid uint32, format int16, element string) ([]byte, error) {
	registerArrays(m)
	none := func(dst []byte) []byte { return dst }
	return m.Encode(oid, format, array{element: element, appendElements: none}, nil)
}
