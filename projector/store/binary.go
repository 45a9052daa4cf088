package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// ErrRange is an integer that doesn't fit into its column.
var ErrRange = errors.New("integer out of the column's range")

// encoder appends a value of a row as COPY's binary format has it: its length in four bytes, -1 for null, then the value. width is the
// column's width in the database, in bytes; -1 for types of variable length.
type encoder[R any] func(dst []byte, row *R, width int16) ([]byte, error)

const (
	dayMillis   = 24 * 60 * 60 * 1000
	epochMillis = 10957 * dayMillis // 2000-01-01, from which PostgreSQL counts

	uuidOID = 2950
)

// encodeAs encodes a field whose values always fit into the column.
func encodeAs[R, F any](field func(*R) *F, appendValue func([]byte, F) []byte) encoder[R] {
	return func(dst []byte, row *R, _ int16) ([]byte, error) { return appendValue(dst, *field(row)), nil }
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

func appendInt(dst []byte, i int64, width int16) ([]byte, error) {
	switch {
	case width == 8:
		return binary.BigEndian.AppendUint64(appendLength(dst, 8), uint64(i)), nil
	case width == 4 && i == int64(int32(i)):
		return binary.BigEndian.AppendUint32(appendLength(dst, 4), uint32(i)), nil
	case width == 2 && i == int64(int16(i)):
		return binary.BigEndian.AppendUint16(appendLength(dst, 2), uint16(i)), nil
	}
	return dst, fmt.Errorf("%w: %d in %d bytes", ErrRange, i, width)
}

// appendUUIDList appends a uuid[] of one dimension, or of none where the list is empty.
func appendUUIDList(dst []byte, list string) ([]byte, error) {
	at := len(dst)
	dst = appendLength(dst, 0) // set below
	if list == "" {
		dst = appendArrayHeader(dst, uuidOID, 0)
	} else {
		dst = appendArrayHeader(dst, uuidOID, 1+strings.Count(list, ","))
		for text := range strings.SplitSeq(list, ",") {
			id, err := uuid.Parse(text)
			if err != nil {
				return dst, err
			}
			dst = appendUUID(dst, id)
		}
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, nil
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
