package encode

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const hexDigits = "0123456789abcdef"

// String appends text as a JSON string. It escapes the quote, the backslash and control characters, and nothing else.
// It replaces bytes that aren't UTF-8; the database has none.
func String(b []byte, s string) []byte { return appendText(b, []byte(s)) }

// appendText is [String] for bytes.
func appendText(b, s []byte) []byte {
	b = append(b, '"')

	// The bytes from start on are not appended yet. Bytes that need no escape are appended together.
	start := 0

	for i := plain(s, 0); i < len(s); i = plain(s, i) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			// Only bytes that are not UTF-8 are replaced.
			r, size := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "\ufffd"...)
				start = i + 1
			}
			i += size

		default:
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
		}
	}

	b = append(b, s[start:]...)
	return append(b, '"')
}

// longestEscape is the number of bytes that a byte takes at most.
const longestEscape = len(`\u0001`)

// textSize is the number of bytes that [appendText] appends.
func textSize(s []byte) int {
	var escaped [longestEscape]byte
	size := len(`""`) + len(s)

	for i := plain(s, 0); i < len(s); i = plain(s, i) {
		if s[i] < utf8.RuneSelf {
			size += len(appendEscaped(escaped[:0], s[i])) - 1
			i++
			continue
		}

		r, width := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && width == 1 {
			size += len("\ufffd") - 1
		}
		i += width
	}

	return size
}

// plain is the index of the first byte from i on that is not ASCII or needs an escape. It takes 8 bytes at a time: a
// byte of the mask has its high bit if the text's byte has it, is below the space, or equals one of the two characters.
// Above such a byte the mask can be wrong, never below it.
func plain(s []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		quote, backslash := x^ones*'"', x^ones*'\\'
		if mask := (x | (x - ones*' ') | (quote - ones) | (backslash - ones)) & high; mask != 0 {
			break
		}
	}

	// The byte is among the next eight, or the text has fewer than eight left.
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Float appends the shortest decimal that parses to the number, as encoding/json does. NaN and infinities, which JSON
// doesn't have, become null.
func Float(b []byte, n float64) []byte {
	size := math.Abs(n)
	if math.IsNaN(size) || math.IsInf(size, 0) {
		return append(b, "null"...)
	}
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, n, 'f', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, n, 'e', -1, 64)
	return append(b[:start], bytes.Replace(b[start:], []byte("e-0"), []byte("e-"), 1)...)
}

// Time appends RFC 3339 in UTC with three decimals, without quotes. The year has at most four digits.
// [time.Time.AppendFormat] takes four times as long.
func Time(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	millisecond := t.Nanosecond() / int(time.Millisecond)

	text := [...]byte{
		digit(year / 1000), digit(year / 100), digit(year / 10), digit(year), '-',
		digit(int(month) / 10), digit(int(month)), '-', digit(day / 10), digit(day), 'T',
		digit(hour / 10), digit(hour), ':', digit(minute / 10), digit(minute), ':', digit(second / 10), digit(second), '.',
		digit(millisecond / 100), digit(millisecond / 10), digit(millisecond), 'Z',
	}
	return append(b, text[:]...)
}

// digit is the last digit of a number.
func digit(n int) byte { return byte('0' + uint(n)%10) }

// UUID appends an identifier in lower case, as a JSON string.
func UUID(b []byte, id uuid.UUID) []byte {
	var text [38]byte
	text[0], text[9], text[14], text[19], text[24], text[37] = '"', '-', '-', '-', '-', '"'

	at := 1
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			at++
		}
		text[at], text[at+1] = hexDigits[c>>4], hexDigits[c&15]
		at += 2
	}
	return append(b, text[:]...)
}
