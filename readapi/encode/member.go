package encode

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Member is a member of a JSON object: which columns it is written from, and how. It is null if the first of them is
// NULL.
type Member struct {
	Name string

	// Types are the OIDs of its columns' types. A member without types has no column: it is never null, and Write gets
	// the columns of the members after it.
	Types []uint32

	// Write appends the member's value. The columns are valid until it returns.
	Write func(b []byte, r *RowWriter, columns [][]byte) []byte
}

// Append appends the member's value, or null.
func (m *Member) Append(b []byte, r *RowWriter, columns [][]byte) []byte {
	if len(m.Types) > 0 && columns[0] == nil {
		return append(b, "null"...)
	}
	return m.Write(b, r, columns)
}

// column is a member of one column that needs nothing else.
func column(name string, oid uint32, write func(b, value []byte) []byte) Member {
	return Member{name, []uint32{oid}, func(b []byte, _ *RowWriter, columns [][]byte) []byte { return write(b, columns[0]) }}
}

// Text is a string.
func Text(name string) Member {
	return Member{name, []uint32{pgtype.TextOID}, func(b []byte, r *RowWriter, columns [][]byte) []byte {
		value := columns[0]

		// The size is counted only where the longest form of the text has no room.
		if len(b)+len(`""`)+longestEscape*len(value) > r.Room && !r.fits(b, textSize(value)) {
			return b
		}
		return appendText(b, value)
	}}
}

// JSON is appended byte for byte as it is stored.
func JSON(name string) Member { return Member{name, []uint32{pgtype.JSONOID}, appendJSON} }

func appendJSON(b []byte, r *RowWriter, columns [][]byte) []byte {
	if !r.fits(b, len(columns[0])) {
		return b
	}
	return append(b, columns[0]...)
}

// Integer is a number of 32 bits.
func Integer(name string) Member {
	return column(name, pgtype.Int4OID, func(b, value []byte) []byte {
		return strconv.AppendInt(b, int64(int32(binary.BigEndian.Uint32(value))), 10)
	})
}

// Double is a number of double precision, null if it is NaN or infinite.
func Double(name string) Member {
	return column(name, pgtype.Float8OID, appendDouble)
}

func appendDouble(b, value []byte) []byte {
	return Float(b, math.Float64frombits(binary.BigEndian.Uint64(value)))
}

// Boolean is true or false.
func Boolean(name string) Member {
	return column(name, pgtype.BoolOID, func(b, value []byte) []byte { return strconv.AppendBool(b, value[0] != 0) })
}

// Identifier is a UUID.
func Identifier(name string) Member {
	return column(name, pgtype.UUIDOID, func(b, value []byte) []byte { return UUID(b, uuid.UUID(value)) })
}

// Instant is a time. One outside the years 1 to 9999, which RFC 3339 can't represent, is the page's error.
func Instant(name string) Member {
	return Member{name, []uint32{pgtype.TimestamptzOID}, func(b []byte, r *RowWriter, columns [][]byte) []byte {
		t := InstantOf(columns[0])
		if second := t.Unix(); second < year1 || second >= year10000 {
			r.err = fmt.Errorf("%s of row %d is outside the years 1 to 9999", name, r.Count)
		}
		b = append(b, '"')
		b = Time(b, t)
		return append(b, '"')
	}}
}

// The beginnings of years, in seconds since 1970.
const (
	year1     = -62_135_596_800
	year2000  = 946_684_800
	year10000 = 253_402_300_800
)

// InstantOf is the time in a column of type timestamptz: microseconds since 2000.
func InstantOf(value []byte) time.Time {
	return time.UnixMicro(year2000*1_000_000 + int64(binary.BigEndian.Uint64(value))).UTC()
}

// System is the identifier of the page's phone system. It has no column.
func System(name string) Member {
	return Member{Name: name, Write: func(b []byte, r *RowWriter, _ [][]byte) []byte { return UUID(b, r.System) }}
}

// Present says whether the next member's column is not NULL. It has no column.
func Present(name string) Member {
	return Member{Name: name, Write: func(b []byte, _ *RowWriter, columns [][]byte) []byte { return strconv.AppendBool(b, columns[0] != nil) }}
}

// Object is a nested object, null if its first column is NULL.
func Object(name string, members ...Member) Member {
	t := NewLayout(members...)
	return Member{name, t.types, t.append}
}
