package events_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callboard/events"
)

// Fixtures in both modes, any event, and changes of them at random.
func TestDecode_AgreesWithJsontext(t *testing.T) {
	names := fixtureNames(t)
	var d events.Decoder
	accepted, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "fixture")
		encoded, err := events.Encode(anyEvent().Draw(rt, "event"))
		if err != nil {
			rt.Fatal(err)
		}
		for _, m := range []events.Message{fixture(t, name), structured(t, name), encoded} {
			checkAgreement(rt, &d, m)
			for range 5 {
				mutant := m
				mutant.Data = mutated(rt, m.Data)
				if checkAgreement(rt, &d, mutant) {
					accepted++
				} else {
					refused++
				}
			}
		}
	})
	if accepted < 20 || refused < 500 {
		t.Errorf("mutants = %d accepted, %d refused, want many of both", accepted, refused)
	}
}

// checkAgreement decodes a message with the decoder and with jsontext, and reports whether it was accepted.
func checkAgreement(t rapid.TB, d *events.Decoder, m events.Message) bool {
	t.Helper()
	got, err := d.Decode(m)
	want, wantErr := events.DecodeByJsontext(m)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("error = %v\nwant    %v\n%q", err, wantErr, m.Data)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("event = %+v\nwant    %+v\n%q", got, want, m.Data)
	}
	return err == nil
}

// mutated draws one to three changes of JSON: short spans, values or names are replaced or repeated.
func mutated(t *rapid.T, data []byte) []byte {
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		from := rapid.IntRange(0, len(data)).Draw(t, "from")
		to := min(from+rapid.IntRange(0, 3).Draw(t, "bytes"), len(data))
		scalars := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|true|false|null`).FindAllIndex(data, -1)
		if len(scalars) > 0 && rapid.Bool().Draw(t, "a scalar") {
			scalar := rapid.SampledFrom(scalars).Draw(t, "which")
			from, to = scalar[0], scalar[1]
		}
		piece := []byte(rapid.SampledFrom(pieces()).Draw(t, "piece"))
		if old := data[from:to]; len(old) > 2 && old[0] == '"' && old[1] != '\\' && rapid.Bool().Draw(t, "escaped") {
			piece = fmt.Appendf(nil, `"\u%04x%s`, old[1], old[2:])
		}
		if rapid.Bool().Draw(t, "repeated") {
			piece = append(slices.Clone(data[from:to]), data[from:min(from+len(piece), len(data))]...)
		}
		data = slices.Concat(data[:from], piece, data[to:])
	}
	return data
}

func pieces() []string {
	return []string{
		`"`, `\`, `,`, `:`, `{`, `}`, `[`, `]`, ` `, "\n", "\x00", "\x1f", "\x7f", "\xff", "\xc3", "\ufeff", "ä", "€", "\U0001f600", "\u2028",
		`null`, `true`, `false`, `{}`, `[]`, `[1]`, `[null]`, `{"a":1,"a":2}`, `""`, `"x"`, `"\u0000"`, `"\ud800"`, `"\ud83d\ude00"`, `"\n"`, `"\/"`, `\u00e4`,
		`0`, `-0`, `-0.0`, `1`, `-1`, `1.0`, `1e3`, `1e400`, `-1e-400`, `01`, `.5`, `1.`, `2147483647`, `2147483648`, `-2147483649`, `9223372036854775807`,
		`9223372036854775808`, `NaN`, `Infinity`, `99999999999999999999999999.5`, `"2026-02-30T00:00:00Z"`, `"2026-02-28T00:00:00.1234567+00:00"`,
		`"2026-02-28T00:00:00.5Z"`, `"2026-02-28t00:00:00z"`, `"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:60Z"`, `"2026-12-31T24:00:00Z"`,
		`"00000000-0000-0000-0000-000000000000"`, `"5D0C6A6E-27F1-4A4E-9D2B-0C8F3F1B7A10"`, `"5d0c6a6e-27f1-4a4e-9d2b-0c8f3f1b7a1g"`,
		`"completed"`, `"category"`, `"identified"`, `"forward"`, `"phone"`, `"role"`, `"numbered"`, `"+14155550123"`, `"RE1"`, `"149.90"`, `"-.5"`,
		strings.Repeat("[", 50), strings.Repeat(`"ab\u0063":`, 2), `"` + strings.Repeat("ä", 513) + `"`, strings.Repeat(" ", 300),
	}
}
