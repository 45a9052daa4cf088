package main

import (
	"strings"
	"testing"
	"time"
)

// The text of a struct is what it has in JSON. A terminal sees no control characters.
func TestFieldsAndList(t *testing.T) {
	t.Parallel()
	type grant struct {
		Kind string `json:"kind"`
		ID   int    `json:"id"`
	}
	type row struct {
		Name   string     `json:"name"`
		Grant  grant      `json:"grant"`
		Scopes []string   `json:"scopes"`
		None   *time.Time `json:"none"`
		Rate   float64    `json:"rate,omitempty"`
	}
	rows := []row{{Name: "a\x1b[31m", Grant: grant{"system", 7}, Scopes: []string{"x:read", "y:read"}, Rate: 0.5}, {Name: strings.Repeat("é", 101)}}

	want := `name    "a\x1b[31m"
grant   system 7
scopes  x:read,y:read
none    -
rate    0.5
`
	if got := asText(table(fields(rows[0]))); got != want {
		t.Errorf("fields =\n%s\nwant\n%s", got, want)
	}
	want = "rate  scopes         name\n0.5   x:read,y:read  \"a\\x1b[31m\"\n-     -              " + strings.Repeat("é", 99) + "…\n"
	if got := asText(list(rows, "None.", "rate", "scopes", "name")); got != want {
		t.Errorf("list =\n%s\nwant\n%s", got, want)
	}
	if got := asText(list([]row{}, "None.", "name")); got != "None.\n" {
		t.Errorf("list of nothing = %q, want None.", got)
	}
}
