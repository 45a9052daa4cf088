package fold

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"callboard/events"
)

func FuzzJSONTurns_EqualsTheMarshaller(f *testing.F) {
	for _, text := range []string{
		"", "Hello", `"quoted" \ and / slashes`, "<a href='x'>&amp;</a>", "\x00\x01\b\f\n\r\t\x1f\x7f", "\u2028\u2029\ufeff\ufffd", "Zoë 😀 漢字",
		strings.Repeat("a\"", 40_000),
	} {
		f.Add(text, "role", "agent", int64(0), 0.0, uint8(0b1110), 1)
	}
	for _, number := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 0.30000000000000004, 12.5, 1e-6, 9.99e-7, -1e-7, 1e-10, 1e20, 1e21, -1e21, 1.5e300, 1 << 53, 1<<53 + 2,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
	} {
		f.Add("number", "unattributed", "", int64(0), number, uint8(0b1110), 1)
	}
	for _, ordinal := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		f.Add("ordinal", "numbered", "", ordinal, 0.5, uint8(0b0101), 3)
	}
	f.Add("none", "", "", int64(0), 0.0, uint8(0), 0)
	f.Fuzz(func(t *testing.T, text, kind, role string, ordinal int64, number float64, valid uint8, n int) {
		for _, s := range []string{text, kind, role} {
			if !utf8.ValidString(s) {
				t.Skip("no event has it")
			}
		}
		if math.IsNaN(number) || math.IsInf(number, 0) {
			t.Skip("no event has it")
		}
		turns := make([]events.Turn, min(max(n, 0), 4))
		for i := range turns {
			turns[i] = events.Turn{Text: text, Speaker: events.Speaker{Kind: kind, Role: role}}
			if valid&1 != 0 {
				turns[i].Speaker.Ordinal = events.Some(ordinal)
			}
			for bit, field := range []*events.Null[float64]{&turns[i].StartSeconds, &turns[i].EndSeconds, &turns[i].Confidence} {
				if valid>>(bit+1)&1 != 0 {
					*field = events.Some(number / float64(bit+i+1))
				}
			}
		}
		if got, want := JSON(appendTurns(nil, turns)), jsonArray(turns); got != want {
			t.Errorf("turns = %.300s, want %.300s", got, want)
		}
	})
}
