package main

import (
	"strings"
	"testing"

	"callboard/projector/rebuild"
)

// The last line says how many messages webhooks do not announce. Without such messages there is no such line.
func TestRebuildResult_WritesMessagesWithoutNotices(t *testing.T) {
	t.Parallel()
	result := rebuildResult{Result: rebuild.Result{Generation: 2}, Dropped: []int64{1}}
	for _, test := range []struct {
		messages int64
		want     string
	}{
		{0, "\nDropped generation 1.\n"},
		{687, "\nDropped generation 1.\n" +
			"Messages that only this generation has applied: 687. No webhook announces them; receivers find their changes in report windows.\n"},
	} {
		var out strings.Builder
		result.WithoutNotices = test.messages
		if err := result.write(&out); err != nil || !strings.HasSuffix(out.String(), test.want) {
			t.Errorf("output = %q, %v, want it to end with %q", out.String(), err, test.want)
		}
	}
}

// What becomes of calls that show other values is said before the last line, or not at all where there are none.
func TestCommands_WriteChangedCalls(t *testing.T) {
	t.Parallel()
	changed := rebuild.Comparison{ChangedCalls: 12, ChangedCallSystems: 3}
	const again = "They get a later updatedAt, so clients that walk by it read them again."
	repair := func(r rebuild.RepairResult) string {
		r.Rows, r.Messages = 9, 8
		return strings.Join((&repairCommand{}).lines(r), "\n")
	}
	for want, got := range map[string][]string{
		"Calls that show other values: 12, of 3 phone systems. " + again:                                                                            correctionFlags{}.changedCallLines("", changed),
		"Calls that would show other values: 12, of 3 phone systems. They would get a later updatedAt, so clients that walk by it read them again.": correctionFlags{}.changedCallLines("would ", changed),
		"Calls that show other values: 12, of 3 phone systems. They keep their updatedAt, so clients that walk by it keep wrong copies.":            correctionFlags{NoAnnounce: true}.changedCallLines("", changed),
		"Calls that show other values: 12. " + again:                                                                                                {repair(rebuild.RepairResult{ChangedCalls: 12})},
		"all of them get a later updatedAt":                                                                                                         {repair(rebuild.RepairResult{AllCalls: true})},
	} {
		if text := strings.Join(got, "\n"); !strings.Contains(text, want) {
			t.Errorf("lines = %q, want %q in them", text, want)
		}
	}
	if lines := (correctionFlags{}).changedCallLines("", rebuild.Comparison{}); lines != nil {
		t.Errorf("lines without changed calls = %q, want none", lines)
	}
}
