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

// longest is the number of characters that are shown of a text.
const longest = 60

// Show is a column's value, as COPY's binary format has it, as text for people: null, a quoted text, json as it is, an identifier, a
// number, a time. Long texts are cut. What isn't of the column's type, as in another release's table, is shown in hexadecimal.
func Format(table, column string, value []byte) string {
	if value == nil {
		return "null"
	}
	for _, r := range selected([]string{table}) {
		if i := slices.Index(r.columns, column); i >= 0 {
			return r.show[i](value)
		}
	}
	return showBytes(value)
}

func showText(value []byte) string {
	text, rest := cut(value)
	return strconv.Quote(text) + rest
}

func showJSON(value []byte) string {
	text, rest := cut(value)
	return text + rest
}

// cut is the beginning of a long text, and what stands for the rest.
func cut(value []byte) (text, rest string) {
	end := 0
	for range longest {
		_, size := utf8.DecodeRune(value[end:])
		end += size
	}
	if end < len(value) {
		rest = "…"
	}
	return string(value[:end]), rest
}

func showBytes(value []byte) string { return hex.EncodeToString(value) }

func showUUID(value []byte) string {
	id, err := uuid.FromBytes(value)
	if err != nil {
		return showBytes(value)
	}
	return id.String()
}

func showUUIDList(value []byte) string {
	const beginning, element = 5 * 4, 4 + 16
	elements := value[min(beginning, len(value)):]
	if len(elements)%element != 0 {
		return showBytes(value)
	}
	var list []string
	for each := range slices.Chunk(elements, element) {
		list = append(list, showUUID(each[4:]))
	}
	return strings.Join(list, ",")
}

func showInt(value []byte) string {
	switch len(value) {
	case 2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(value))))
	case 4:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(value))))
	case 8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(value)), 10)
	}
	return showBytes(value)
}

func showFloat(value []byte) string {
	if len(value) != 8 {
		return showBytes(value)
	}
	return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(value)), 'g', -1, 64)
}

func showBool(value []byte) string {
	if len(value) != 1 {
		return showBytes(value)
	}
	return strconv.FormatBool(value[0] != 0)
}

func showTime(value []byte) string {
	if len(value) != 8 {
		return showBytes(value)
	}
	micros := int64(binary.BigEndian.Uint64(value))
	return events.Time(micros/1000 + epochMillis).String()
}

func showDate(value []byte) string {
	if len(value) != 4 {
		return showBytes(value)
	}
	days := int64(int32(binary.BigEndian.Uint32(value)))
	day, _, _ := strings.Cut(events.Time(days*dayMillis+epochMillis).String(), "T")
	return day
}
