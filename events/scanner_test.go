package events

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
)

// The scanner, which trusts its input, reads what a parser that doesn't reads.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, data := range []string{
		`1`, ` -0.5e+3 `, `""`, `"\\"`, `"\""`, `"a\\\"b\\"`, `"\u00e9\ud83d\ude00"`, `{}`, `[]`, `[[],{},[{}]]`, `[1,2 , 3]`, `true`, "\t{\r\n\"a\" : null , \"b\":false}\n",
		`{"a":{"b":[{"c":1},{"c":[2]}]},"d":"e"}`, `{"\"":"\\\\"}`, `{"":""}`, `{"a":1,"a":2}`, "\"\xff\"", `[1,]`, `{"a"}`, `1 2`, ``,
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := parse(data)
		var want any
		if wantErr := json.Unmarshal(data, &want); err != nil || wantErr != nil {
			if err == nil && !beyondFloat(members) {
				t.Fatalf("accepted, but %v", wantErr)
			}
			if err != nil && wantErr == nil {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		if got := plainValue(members); !reflect.DeepEqual(got, want) {
			t.Fatalf("\n got %#v\nwant %#v", got, want)
		}
	})
}

// beyondFloat tells whether a number is too large for a float: valid JSON that a parser into floats refuses.
func beyondFloat(members []member) bool {
	for _, m := range members {
		if _, err := strconv.ParseFloat(m.text, 64); m.kind == '0' && err != nil {
			return true
		}
	}
	return false
}

// plainValue is the first member's value as encoding/json has it.
func plainValue(members []member) any {
	switch m := members[0]; m.kind {
	case '{':
		o := map[string]any{}
		for _, inner := range each(members[1:]) {
			o[inner[0].name] = plainValue(inner)
		}
		return o
	case '[':
		a := []any{}
		for _, inner := range each(members[1:]) {
			a = append(a, plainValue(inner))
		}
		return a
	case '"':
		return m.text
	case '0':
		number, _ := strconv.ParseFloat(m.text, 64)
		return number
	case 'n':
		return nil
	default:
		return m.kind == 't'
	}
}
