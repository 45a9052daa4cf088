package store

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/google/uuid"

	"callboard/events"
)

// encoder appends a value of a row in PostgreSQL's binary format: its length in four bytes, -1 for null, then the value.
type encoder[R any] func(dst []byte, row *R) []byte

const (
	dayMillis   = 24 * 60 * 60 * 1000
	epochMillis = 10957 * dayMillis // 2000-01-01, from which PostgreSQL counts
)

// encodeAs encodes a field.
func encodeAs[R, F any](field func(*R) *F, appendValue func([]byte, F) []byte) encoder[R] {
	return func(dst []byte, row *R) []byte { return appendValue(dst, *field(row)) }
}

// orNull encodes an optional value.
func orNull[T comparable](appendValue func([]byte, T) []byte) func([]byte, events.Null[T]) []byte {
	return func(dst []byte, n events.Null[T]) []byte {
		if !n.Valid {
			return appendNull(dst)
		}
		return appendValue(dst, n.Value)
	}
}

func appendNull(dst []byte) []byte { return append(dst, 0xff, 0xff, 0xff, 0xff) }

func appendLength(dst []byte, n int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n)) }

func appendText[S ~string](dst []byte, s S) []byte { return append(appendLength(dst, len(s)), s...) }

func appendUUID(dst []byte, id uuid.UUID) []byte { return append(appendLength(dst, len(id)), id[:]...) }

func appendDigest(dst []byte, digest [sha256.Size]byte) []byte {
	return append(appendLength(dst, len(digest)), digest[:]...)
}

func appendBool(dst []byte, b bool) []byte {
	dst = appendLength(dst, 1)
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(dst, 8), math.Float64bits(f))
}

// appendTime appends microseconds since 2000.
func appendTime(dst []byte, t events.Time) []byte {
	return binary.BigEndian.AppendUint64(appendLength(dst, 8), uint64((int64(t)-epochMillis)*1000))
}

// appendDate appends days since 2000.
func appendDate(dst []byte, t events.Time) []byte {
	return binary.BigEndian.AppendUint32(appendLength(dst, 4), uint32((int64(t.Day())-epochMillis)/dayMillis))
}

// appendInt appends eight bytes, however narrow the column is.
func appendInt(dst []byte, i int64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(dst, 8), uint64(i))
}

// appendArrayHeader appends what precedes the elements of an array: dimensions, a flag, the type of the elements, then their number and
// the first one's subscript. The flag says whether an element is null; PostgreSQL looks at the elements instead.
func appendArrayHeader(dst []byte, element uint32, count int) []byte {
	dimensions := 1
	if count == 0 {
		dimensions = 0
	}
	dst = appendLength(appendLength(appendLength(dst, dimensions), 0), int(element))
	if count == 0 {
		return dst
	}
	return appendLength(appendLength(dst, count), 1)
}
