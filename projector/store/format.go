package store

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"callboard/events"
)

// maxFormatted is how many characters of a text are shown.
const maxFormatted = 60

// Format formats a field's value for people: null, a quoted text, JSON as it is, an identifier, a number, or a time. The value can be of
// another row of the table. Long texts are cut. A value that isn't of the column's type, as another release's table can have one, is shown
// in hexadecimal.
func (r Row) Format(field int, value []byte) string { return r.relation.formatValue(field, value) }

func (r *relation) formatValue(field int, value []byte) string {
	if value == nil {
		return "null"
	}
	return r.format[field](value)
}

func formatText(value []byte) string {
	text, rest := cut(value)
	return strconv.Quote(text) + rest
}

func formatJSON(value []byte) string {
	text, rest := cut(value)
	return text + rest
}

// cut returns the beginning of a text, and an ellipsis if the text is longer.
func cut(value []byte) (text, rest string) {
	end := 0
	for range maxFormatted {
		_, size := utf8.DecodeRune(value[end:])
		end += size
	}
	if end < len(value) {
		rest = "…"
	}
	return string(value[:end]), rest
}

func formatBytes(value []byte) string { return hex.EncodeToString(value) }

func formatUUID(value []byte) string {
	id, err := uuid.FromBytes(value)
	if err != nil {
		return formatBytes(value)
	}
	return id.String()
}

func formatUUIDList(value []byte) string {
	const beginning, element = 5 * 4, 4 + 16
	elements := value[min(beginning, len(value)):]
	if len(elements)%element != 0 {
		return formatBytes(value)
	}
	var list []string
	for each := range slices.Chunk(elements, element) {
		list = append(list, formatUUID(each[4:]))
	}
	return strings.Join(list, ",")
}

func formatInt(value []byte) string {
	switch len(value) {
	case 2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(value))))
	case 4:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(value))))
	case 8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(value)), 10)
	}
	return formatBytes(value)
}

func formatFloat(value []byte) string {
	if len(value) != 8 {
		return formatBytes(value)
	}
	return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(value)), 'g', -1, 64)
}

func formatBool(value []byte) string {
	if len(value) != 1 {
		return formatBytes(value)
	}
	return strconv.FormatBool(value[0] != 0)
}

func formatTime(value []byte) string {
	if len(value) != 8 {
		return formatBytes(value)
	}
	micros := int64(binary.BigEndian.Uint64(value))
	return events.Time(micros/1000 + epochMillis).String()
}

func formatDate(value []byte) string {
	if len(value) != 4 {
		return formatBytes(value)
	}
	days := int64(int32(binary.BigEndian.Uint32(value)))
	day, _, _ := strings.Cut(events.Time(days*dayMillis+epochMillis).String(), "T")
	return day
}
