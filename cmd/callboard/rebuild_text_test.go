package main

import (
	"io"
	"strings"
	"testing"

	"callboard/projector/rebuild"
)

// The last line says of how many partitions webhooks do not announce messages. Without such partitions there is no
// such line.
func TestRebuildResult_WritesPartitionsWithoutNotices(t *testing.T) {
	t.Parallel()
	result := rebuildResult{Result: rebuild.Result{Generation: 2}}
	for _, test := range []struct {
		partitions int
		want       string
	}{
		{0, "writes paused for 0 ms (snapshot) and 0 ms (switch).\n"},
		{16, "(switch).\n" +
			"Partitions of which only this generation has applied some messages: 16. No webhook announces these messages; " +
			"receivers find their changes in report windows.\n"},
	} {
		result.WithoutNotices = test.partitions
		if out := asText(result.lines()); !strings.HasSuffix(out, test.want) {
			t.Errorf("output = %q, want it to end with %q", out, test.want)
		}
	}
}

// What becomes of the calls of phone systems whose reports show other values is said, and nothing where there are none.
func TestChangedSystemLines(t *testing.T) {
	t.Parallel()
	lines := changedSystemLines(rebuild.Comparison{ChangedSystems: 3})
	if len(lines) != 1 || !strings.Contains(lines[0], "show other values: 3. The new rows give their calls a later updatedAt") {
		t.Errorf("lines = %q, want one about 3 phone systems", lines)
	}
	if lines := changedSystemLines(rebuild.Comparison{}); lines != nil {
		t.Errorf("lines without changed phone systems = %q, want none", lines)
	}
}

// Every step has a name.
func TestShowStep(t *testing.T) {
	for _, step := range []rebuild.Step{
		rebuild.StepPlan, rebuild.StepLoad, rebuild.StepIndex, rebuild.StepCompare, rebuild.StepSwitch, rebuild.StepDrop,
	} {
		p := newProgress(io.Discard)
		showStep(p, rebuild.Progress{Step: step})
		if name := p.task.name; !strings.HasSuffix(name, "ing") {
			t.Errorf("step %s: name = %s, want one that ends in ing", step, name)
		}
		p.Close()
	}
}
