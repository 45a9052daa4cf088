package main

import (
	"io"
	"strings"
	"testing"

	"callboard/projector/rebuild"
)

// Late reports of a step do not bring it back.
func TestRebuildProgress(t *testing.T) {
	p := newRebuildProgress(io.Discard)
	defer p.close()
	p.waiting("waiting")
	set := func(step rebuild.Step, done, total int64) {
		p.set(rebuild.Progress{Step: step, Done: done, Total: total, Part: rebuild.Part{Partition: 3, Done: done, Total: total}})
	}
	for _, now := range []struct {
		step        rebuild.Step
		done, total int64
		shown       rebuild.Step
		at          int64
	}{
		{rebuild.StepFold, 10, 20, rebuild.StepFold, 10},
		{rebuild.StepFold, 5, 20, rebuild.StepFold, 10}, // two parts concurrently
		{rebuild.StepFold, 20, 20, rebuild.StepFold, 20},
		{rebuild.StepCompare, 20_000, 0, rebuild.StepCompare, 20_000},
		{rebuild.StepCompare, 10_000, 0, rebuild.StepCompare, 20_000},
	} {
		set(now.step, now.done, now.total)
		if p.step != now.shown || p.done != now.at {
			t.Errorf("%+v: step = %s, done = %d, want %s, %d", now, p.step, p.done, now.shown, now.at)
		}
	}
	p.set(rebuild.Progress{Step: rebuild.StepIndex, Done: 3, Total: 3})
	p.set(rebuild.Progress{Step: rebuild.StepIndex, Done: 2, Total: 3})
	if p.step != rebuild.StepFollow || p.done != 0 {
		t.Errorf("step = %s, done = %d, want %s, 0", p.step, p.done, rebuild.StepFollow)
	}
}

func TestStepWords(t *testing.T) {
	for _, step := range []rebuild.Step{
		rebuild.StepPlan, rebuild.StepRead, rebuild.StepFold, rebuild.StepIndex, rebuild.StepFollow, rebuild.StepCompare, rebuild.StepSwitch, rebuild.StepDrop,
	} {
		if name, _ := stepWords(step); !strings.HasSuffix(name, "ing") {
			t.Errorf("step %s: name = %s, want one that ends in ing", step, name)
		}
	}
}
