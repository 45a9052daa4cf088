package main

import (
	"io"
	"strings"
	"testing"

	"callboard/projector/rebuild"
)

func heardBy(p *rebuildProgress, list ...rebuild.Progress) {
	for _, now := range list {
		p.hear(now)
	}
}

func folded(partition int, done, total int64) rebuild.Progress {
	return rebuild.Progress{Step: rebuild.StepFold, Partition: partition, Done: done, Total: total}
}

// Every message that is read counts once, whatever is folded at the same time.
func TestRebuildProgress_Fold(t *testing.T) {
	for name, c := range map[string]struct {
		outlook     int64
		heard       []rebuild.Progress
		done, total int64
	}{
		"one partition":  {500, []rebuild.Progress{folded(0, 100, 300), folded(0, 200, 300), folded(0, 300, 300)}, 300, 500},
		"two partitions": {500, []rebuild.Progress{folded(0, 100, 200), folded(1, 90, 300), folded(0, 200, 200), folded(1, 190, 300)}, 390, 500},
		"more partitions than workers": {
			900, []rebuild.Progress{folded(0, 100, 300), folded(1, 90, 100), folded(2, 100, 300), folded(0, 200, 300), folded(0, 300, 300)}, 490, 900,
		},
		"parts one by one":                     {200, []rebuild.Progress{folded(0, 100, 200), folded(0, 200, 200), folded(0, 50, 200), folded(0, 150, 200)}, 350, 400},
		"parts at the same time":               {500, []rebuild.Progress{folded(0, 100, 200), folded(0, 90, 200), folded(0, 190, 200), folded(0, 200, 200)}, 390, 500},
		"more than there was at first":         {500, []rebuild.Progress{folded(0, 100, 200), folded(0, 200, 200), folded(0, 203, 200), folded(1, 90, 300)}, 293, 500},
		"not known how much":                   {0, []rebuild.Progress{folded(0, 100, 0), folded(0, 110, 0)}, 110, 0},
		"more than was known of, as they come": {50, []rebuild.Progress{folded(0, 60, 0)}, 60, 60},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRebuildProgress(io.Discard, effort{Batch: 100, Workers: 2}, func() int64 { return c.outlook })
			defer p.close()
			heardBy(p, c.heard...)
			if p.done != c.done || p.total != c.total {
				t.Errorf("%d of %d, want %d of %d", p.done, p.total, c.done, c.total)
			}
		})
	}
}

// A step follows the other, and what comes late doesn't bring one back.
func TestRebuildProgress_Steps(t *testing.T) {
	p := newRebuildProgress(io.Discard, modest(), func() int64 { return 10 })
	defer p.close()
	p.wait("somebody is late")
	if p.step != rebuild.StepFold || p.total != 10 {
		t.Errorf("%s of %d", p.step, p.total)
	}
	heardBy(p, folded(0, 10, 10), rebuild.Progress{Step: rebuild.StepIndex, Done: 1, Total: 3}, rebuild.Progress{Step: rebuild.StepIndex, Done: 3, Total: 3},
		rebuild.Progress{Step: rebuild.StepIndex, Done: 2, Total: 3})
	if p.step != rebuild.StepFollow || p.done != 0 || p.total != 0 {
		t.Errorf("%s, %d of %d", p.step, p.done, p.total)
	}
	heardBy(p, rebuild.Progress{Step: rebuild.StepCompare, Done: 20_000}, rebuild.Progress{Step: rebuild.StepCompare, Done: 10_000})
	if p.step != rebuild.StepCompare || p.done != 20_000 {
		t.Errorf("%s, %d", p.step, p.done)
	}
}

func TestStepWords(t *testing.T) {
	for _, step := range []rebuild.Step{
		rebuild.StepPlan, rebuild.StepFold, rebuild.StepIndex, rebuild.StepFollow, rebuild.StepCompare, rebuild.StepSwitch, rebuild.StepDrop,
	} {
		if name, _ := stepWords(step); !strings.HasSuffix(name, "ing") {
			t.Errorf("%s: %s", step, name)
		}
	}
}
