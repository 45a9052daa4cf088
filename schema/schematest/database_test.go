package schematest_test

import (
	"slices"
	"testing"

	"callboard/schema/schematest"
)

func TestTables_Diff(t *testing.T) {
	first := schematest.Tables{"a": {"1", "2", "4"}, "b": {"1"}}
	second := schematest.Tables{"a": {"2", "3", "4"}, "c": {"5", "6"}}
	want := []string{
		"a: 1 only in the first: 1", "a: 1 only in the second: 3", "b: 1 only in the first: 1", "c: 2 only in the second: 5",
	}
	if got := first.Diff(second); !slices.Equal(got, want) {
		t.Errorf("differences = %q, want %q", got, want)
	}
	if got := first.Diff(first); len(got) > 0 {
		t.Errorf("differences from itself = %q, want none", got)
	}
}
