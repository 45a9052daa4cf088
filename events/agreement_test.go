package events_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"callboard/events"
	"callboard/events/sample"
)

func TestDecode_AgreesWithJsontext(t *testing.T) {
	const mutants = 20 // of each message
	mutate := newMutator(1)
	var d events.Decoder
	accepted, refused := 0, 0
	for _, m := range messages(t) {
		checkAgreement(t, &d, m)
		for range mutants {
			mutant := m
			mutant.Data = mutate.mutant(m.Data)
			if checkAgreement(t, &d, mutant) {
				accepted++
			} else {
				refused++
			}
		}
	}
	if accepted < 500 || refused < 1000 {
		t.Errorf("mutants = %d accepted, %d refused, want many of both", accepted, refused)
	}
}

func TestDecode_AgreesWithJsontextOnAnyEvent(t *testing.T) {
	var d events.Decoder
	rapid.Check(t, func(rt *rapid.T) {
		m, err := events.Encode(anyEvent().Draw(rt, "event"))
		if err != nil {
			rt.Fatal(err)
		}
		checkAgreement(rt, &d, m)
		mutate := newMutator(rapid.Uint64().Draw(rt, "seed"))
		for range 20 {
			mutant := m
			mutant.Data = mutate.mutant(m.Data)
			checkAgreement(rt, &d, mutant)
		}
	})
}

// messages returns all fixtures in both modes, and the events of a small company.
func messages(tb testing.TB) (all []events.Message) {
	tb.Helper()
	for _, name := range fixtureNames(tb) {
		all = append(all, fixture(tb, name), structured(tb, name))
	}
	for e := range sample.New(sample.Config{Systems: 1, Calls: 20}).Events() {
		m, err := events.Encode(e)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, m)
	}
	return all
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

// mutator changes JSON at random.
type mutator struct {
	*rand.Rand
	scalars *regexp.Regexp // strings, numbers and literals
	pieces  []string       // of JSON, valid and not
}

func newMutator(seed uint64) mutator {
	return mutator{rand.New(rand.NewPCG(seed, 0)), regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|true|false|null`), pieces()}
}

// mutant returns data with one to three changes.
func (m mutator) mutant(data []byte) []byte {
	data = slices.Clone(data)
	for range 1 + m.IntN(3) {
		from := m.IntN(len(data) + 1)
		to := min(from+m.IntN(4), len(data))
		switch m.IntN(5) {
		case 0: // bytes are lost
			data = slices.Delete(data, from, to)
		case 1: // bytes are replaced
			data = slices.Replace(data, from, to, m.piece()...)
		case 2: // bytes are repeated
			data = slices.Insert(data, from, slices.Clone(data[from:min(from+m.IntN(100), len(data))])...)
		case 3: // a value or a name is replaced
			data = m.replaceScalar(data, func([]byte) []byte { return m.piece() })
		case 4: // a value or a name is escaped
			data = m.replaceScalar(data, escapeFirst)
		}
	}
	return data
}

func (m mutator) piece() []byte { return []byte(m.pieces[m.IntN(len(m.pieces))]) }

func (m mutator) replaceScalar(data []byte, by func([]byte) []byte) []byte {
	all := m.scalars.FindAllIndex(data, -1)
	if len(all) == 0 {
		return data
	}
	at := all[m.IntN(len(all))]
	return slices.Replace(data, at[0], at[1], by(data[at[0]:at[1]])...)
}

// escapeFirst escapes the first character of a string.
func escapeFirst(scalar []byte) []byte {
	if scalar[0] != '"' || len(scalar) == 2 || scalar[1] == '\\' || scalar[1] >= utf8.RuneSelf {
		return scalar
	}
	return fmt.Appendf(nil, `"\u%04x%s`, scalar[1], scalar[2:])
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
