package events

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"
)

// The scanner does not check its input, so it is compared with a parser that does.
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
				t.Fatalf("parse accepts data, want %v", wantErr)
			}
			if err != nil && wantErr == nil {
				t.Fatalf("parse refuses valid data: %v", err)
			}
			return
		}
		if got := plainValue(members); !reflect.DeepEqual(got, want) {
			t.Fatalf("value = %#v\nwant %#v", got, want)
		}
	})
}

// beyondFloat reports whether a number is too large for a float64. Such a number is valid JSON, but a decoder into float64 refuses it.
func beyondFloat(members []member) bool {
	for _, m := range members {
		if _, err := strconv.ParseFloat(m.text, 64); m.kind == '0' && err != nil {
			return true
		}
	}
	return false
}

// plainValue returns the first member's value in the types that json.Unmarshal uses.
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
