package main

import (
	"io"
	"strings"
	"testing"

	"callboard/projector/rebuild"
)

// Commits of several partitions report concurrently.
func TestRebuildProgress(t *testing.T) {
	p := newRebuildProgress(io.Discard)
	defer p.close()
	p.waiting("waiting")
	for _, now := range []struct {
		step     rebuild.Step
		done, at int64
	}{
		{rebuild.StepLoad, 10, 10}, {rebuild.StepLoad, 5, 10}, {rebuild.StepLoad, 20, 20}, {rebuild.StepIndex, 1, 1}, {rebuild.StepCompare, 2, 2},
	} {
		p.set(rebuild.Progress{Step: now.step, Done: now.done, Total: 20})
		if p.step != now.step || p.done != now.at {
			t.Errorf("%+v: step = %s, done = %d, want %s, %d", now, p.step, p.done, now.step, now.at)
		}
	}
}

func TestStepWords(t *testing.T) {
	for _, step := range []rebuild.Step{
		rebuild.StepPlan, rebuild.StepLoad, rebuild.StepIndex, rebuild.StepCompare, rebuild.StepSwitch, rebuild.StepDrop,
	} {
		if name, _ := stepWords(step); !strings.HasSuffix(name, "ing") {
			t.Errorf("step %s: name = %s, want one that ends in ing", step, name)
		}
	}
}
