package deadletter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Legible returns data as text: JSON indented, and bytes that a terminal would interpret escaped.
func Legible(data []byte) string {
	var lines bytes.Buffer
	if utf8.Valid(data) && json.Indent(&lines, data, "", "  ") == nil {
		data = lines.Bytes()
	}

	// Bytes and characters that do not print are escaped.
	var b strings.Builder
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, data[0])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)

		default:
			escaped := strconv.QuoteRuneToASCII(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		}

		data = data[size:]
	}

	return strings.TrimSuffix(b.String(), "\n")
}
