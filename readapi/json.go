package readapi

import (
	"bytes"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

const hexDigits = "0123456789abcdef"

// appendString appends text as a JSON string. It escapes the quote, the backslash and control characters, and nothing else. It
// replaces bytes that aren't UTF-8; the database has none.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			start = i + 1
		}
		i++
	}
	b = append(b, s[start:]...)
	return append(b, '"')
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

func appendNullText(b []byte, t pgtype.Text) []byte {
	if !t.Valid {
		return append(b, "null"...)
	}
	return appendString(b, t.String)
}

func appendNullInt(b []byte, n pgtype.Int4) []byte {
	if !n.Valid {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(n.Int32), 10)
}

// appendNullFloat appends the shortest decimal that parses to the number, as encoding/json does. NaN and infinities, which JSON
// doesn't have, become null.
func appendNullFloat(b []byte, n pgtype.Float8) []byte {
	size := math.Abs(n.Float64)
	if !n.Valid || math.IsNaN(size) || math.IsInf(size, 0) {
		return append(b, "null"...)
	}
	if size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, n.Float64, 'f', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, n.Float64, 'e', -1, 64)
	return append(b[:start], bytes.Replace(b[start:], []byte("e-0"), []byte("e-"), 1)...)
}

func appendNullBool(b []byte, v pgtype.Bool) []byte {
	if !v.Valid {
		return append(b, "null"...)
	}
	return strconv.AppendBool(b, v.Bool)
}

func appendNullJSON(b, json []byte) []byte {
	if json == nil {
		return append(b, "null"...)
	}
	return append(b, json...)
}

func appendNullUUID(b []byte, id pgtype.UUID) []byte {
	if !id.Valid {
		return append(b, "null"...)
	}
	return appendUUID(b, id.Bytes)
}

func appendNullTime(b []byte, t pgtype.Timestamptz) []byte {
	if !t.Valid {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = appendTime(b, t.Time)
	return append(b, '"')
}

// appendTime appends RFC 3339 in UTC with three decimals. [time.Time.AppendFormat] takes four times as long.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = appendDigits(b, year/100)
	b = appendDigits(b, year%100)
	b = append(b, '-')
	b = appendDigits(b, int(month))
	b = append(b, '-')
	b = appendDigits(b, day)
	b = append(b, 'T')
	b = appendDigits(b, hour)
	b = append(b, ':')
	b = appendDigits(b, minute)
	b = append(b, ':')
	b = appendDigits(b, second)
	b = append(b, '.')
	millisecond := t.Nanosecond() / int(time.Millisecond)
	b = append(b, byte('0'+millisecond/100))
	b = appendDigits(b, millisecond%100)
	return append(b, 'Z')
}

// appendDigits appends a number below 100 as two digits.
func appendDigits(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// appendUUID appends an identifier in lower case, as a JSON string.
func appendUUID(b []byte, id uuid.UUID) []byte {
	b = append(b, '"')
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	return append(b, '"')
}
