package store

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

const (
	dayMillis   = 24 * 60 * 60 * 1000
	epochMillis = 10957 * dayMillis // 2000-01-01, from which PostgreSQL counts
)

// The functions below append a value in PostgreSQL's binary format: its length in four bytes, -1 for null, then the
// value.

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
func appendDate(dst []byte, d fold.Day) []byte {
	return binary.BigEndian.AppendUint32(appendLength(dst, 4), uint32((int64(d)-epochMillis)/dayMillis))
}

// appendInt appends eight bytes, however narrow the column is.
func appendInt(dst []byte, i int64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(dst, 8), uint64(i))
}

// The functions below read a value in binary format, without its length. They return false where it has another one.

func readText[S ~string](src []byte) (S, bool) { return S(src), src != nil }

func readUUID(src []byte) (uuid.UUID, bool) {
	if len(src) != len(uuid.UUID{}) {
		return uuid.Nil, false
	}
	return uuid.UUID(src), true
}

func readDigest(src []byte) ([sha256.Size]byte, bool) {
	if len(src) != sha256.Size {
		return [sha256.Size]byte{}, false
	}
	return [sha256.Size]byte(src), true
}

func readBool(src []byte) (b, ok bool) { return len(src) == 1 && src[0] != 0, len(src) == 1 }

// readInt reads four or eight bytes.
func readInt(src []byte) (int64, bool) {
	switch len(src) {
	case 4:
		return int64(int32(binary.BigEndian.Uint32(src))), true
	case 8:
		return int64(binary.BigEndian.Uint64(src)), true
	}
	return 0, false
}

func readFloat(src []byte) (float64, bool) {
	bits, ok := readInt(src)
	return math.Float64frombits(uint64(bits)), ok && len(src) == 8
}

// readTime reads microseconds since 2000, which are whole milliseconds.
func readTime(src []byte) (events.Time, bool) {
	micros, ok := readInt(src)
	return events.Time(micros/1000 + epochMillis), ok && len(src) == 8
}

// readDate reads days since 2000.
func readDate(src []byte) (fold.Day, bool) {
	days, ok := readInt(src)
	return fold.Day(days*dayMillis + epochMillis), ok && len(src) == 4
}

// appendArrayHeader appends what precedes the elements of an array: dimensions, a flag, the type of the elements,
// then their number and the first one's subscript. The flag says whether an element is null; PostgreSQL looks at
// the elements instead.
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
