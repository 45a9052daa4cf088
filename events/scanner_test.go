package events

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// texts returns JSON at the borders of what is valid, and beyond.
func texts() []string {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	return []string{
		``, ` `, `1`, ` -0.5e+3 `, `""`, `"\\"`, `"\""`, `"a\\\"b\\"`, `{}`, `[]`, `[[],{},[{}]]`, `[1,2 , 3]`, "\t{\r\n\"a\" : null , \"b\":false}\n",
		`{"a":{"b":[{"c":1},{"c":[2]}]},"d":"e"}`, `{"\"":"\\\\"}`, `{"":""}`, `true`, `false`, `null`, `tru`, `nulL`, `truefalse`, `NaN`, `Infinity`,
		// Structure.
		`[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{a:1}`, `{'a':1}`, `{1:1}`, `[`, `{`, `]`, `}`, `[}`, `{]`, `[1}`, `{"a":1]`,
		`1 2`, `{}{}`, `[]]`, `{} x`, "{}\x00", "\ufeff{}", "\v1", "\u00a01", `/**/1`, `[1]//`, "\x00", "[\x00]", `,`, `:`, `"a":1`,
		// Numbers.
		`0`, `-0`, `-0.0`, `00`, `01`, `-01`, `-`, `+1`, `.5`, `5.`, `1.e1`, `1e`, `1e+`, `1E-7`, `1e5.5`, `0x10`, `1_000`, `1e400`, `-1e-400`, `--1`, `1-`, `0e0`,
		`9223372036854775807`, `9223372036854775808`, `123456789012345678901234567890.12345678901234567890e123456789`, `[0,-1,2.5,3e1]`, `[1.,2]`,
		// Strings.
		`"`, `"a`, `"\`, `"\"`, `"\x41"`, `"\u"`, `"\u12"`, `"\u123`, `"\u12G4"`, `"\u+123"`, `"\u 123"`, `"\U0041"`, `"\u0000"`, "\"\x00\"", "\"\x1f\"", "\"\n\"", "\"\t\"", "\"\x7f\"",
		`"\u00e9\ud83d\ude00"`, `"\b\f\n\r\t\/"`, `"\a"`, `"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\udc00\ud800"`, `"\ud800x"`, `"\ud800\n"`, `"\ud83d\u0041"`,
		`"\uD83D\uDE00"`, `"\uFFFD"`, `"\ufffe"`, `"\ud83d\ude0"`, `"\ud83d\`, "\"\ufffd\"", "\"\u00e9\u20ac\U0001f600\"", "\"\u2028\"", "\"1234567\u00e9\"", "\"12345678\\n\"",
		"\"\xff\"", "\"\xc3\"", "\"\xc3", "\"\xc0\x80\"", "\"\xe2\x82\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf0\x9f\x98\"", "\"12345678\x80\"", "\xff", "{\"\xff\":1}",
		`"` + strings.Repeat("a", 100_000) + `"`, `"` + strings.Repeat(`\n`, 10_000) + `"`, `"` + strings.Repeat("ä", 10_000) + "\xff\"",
		// Names.
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"a":1,"A":2}`, `{"a":{"a":1},"b":{"a":1}}`, `{"x":{"y":1,"y":1}}`, `[{"a":1},{"a":1}]`,
		`{"":1,"":2}`, `{"a":[{"b":1,"b":1}]}`, `{"a":{"b":1},"b":2,"a":3}`, `{"aXc":1,"aYc":2,"aXc":3}`, `{"\ud83d\ude00":1,"` + "\U0001f600" + `":2}`, `{"\ud800":1}`,
		"{" + many(64, `"n%d":1,`) + `"n0":1}`, "{" + many(64, `"n%d":1,`) + `"n63":1}`, "{" + many(300, `"n%d":[1],`) + `"m":1}`, "{" + many(300, `"n%d":{},`) + `"n150":1}`,
		"{" + many(63, `"n%d":1,`) + `"m":1}`, "{" + many(64, `"n%d":1,`) + `"m":1}`, "{" + many(40, `"a%02da":1,`) + `"a39a":1}`,
		// Depth.
		nested(9_999), nested(10_000), nested(10_001), strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), strings.Repeat(`{"a":`, 10_000) + "[]", strings.Repeat("[", 20_000),
		"[" + nested(9_999) + "," + nested(9_999) + "]", "[" + nested(9_999) + "," + nested(10_000) + "]",
	}
}

func FuzzScan(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatalf("fixtures in testdata = %d, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkScan(t, text) })
}

// checkScan compares scan with jsontext, in memory that has been used before.
func checkScan(t *testing.T, text string) {
	t.Helper()
	s := scanner{
		name: "used", open: []container{{index: 1}},
		members: []member{{"used", value{kind: '[', span: 7, text: "used"}}, {}, {}, {}},
	}
	got, scanErr := s.scan(bytes.NewBufferString(text), text)
	valid := scanErr == nil
	want, err := membersByJsontext([]byte(text))
	switch {
	case valid != (err == nil):
		t.Errorf("valid = %t, want %v: %.100q", valid, err, text)
	case valid && !slices.Equal(got, want):
		t.Errorf("members of %.100q = %v\nwant %v", text, got, want)
	}
}
