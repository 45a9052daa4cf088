package query

import "testing"

func TestLabel(t *testing.T) {
	t.Parallel()
	for given, want := range map[[2]string]string{
		{"very_positive", "Very positive"}: "Very positive",
		{"very_positive", ""}:              "Very positive",
		{"very_positive", " \t\u2003"}:     "Very positive",
		{"x", " Label with spaces "}:       " Label with spaces ",
		{"__new--lead.2__", ""}:            "New lead 2",
		{"2nd_call", ""}:                   "2nd call",
		{"VIP", ""}:                        "VIP",
		{"ärger", ""}:                      "Ärger",
		{"Élan", ""}:                       "Élan",
		{"cafe\u0301_bar", ""}:             "Cafe\u0301 bar",
		{"___", ""}:                        "___",
		{"\u0301", ""}:                     "\u0301",
		{"\U0001F600", " "}:                "\U0001F600",
		{"\U0001F600_ok", ""}:              "Ok",
		{" ", ""}:                          `" "`,
		{"\u200b", "\u200b"}:               `"\u200b"`,
	} {
		if got := Label(given[0], given[1]); got != want {
			t.Errorf("label of %q with %q = %q, want %q", given[0], given[1], got, want)
		}
	}
}
