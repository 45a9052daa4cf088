package main

import (
	"fmt"
	"io"
	"sync"

	"callboard/cmd/progress"
	"callboard/projector/rebuild"
)

// rebuildProgress shows the steps of work on a projection. Several goroutines tell it.
type rebuildProgress struct {
	mu      sync.Mutex
	display *progress.Display
	step    rebuild.Step
	task    *progress.Task            // of the step; nil before the first
	done    int64                     // of the task
	parts   map[[2]int]*progress.Task // that are being folded, by partition and number
}

func newRebuildProgress(w io.Writer) *rebuildProgress {
	return &rebuildProgress{display: progress.New(w), parts: make(map[[2]int]*progress.Task)}
}

func (p *rebuildProgress) close() { p.display.Close() }

// hear shows what has been done.
func (p *rebuildProgress) hear(now rebuild.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step == rebuild.StepFollow && now.Step == rebuild.StepIndex {
		return // a word that came late
	}
	if p.step != now.Step {
		p.begin(now.Step, now.Total)
	}
	p.done = max(p.done, now.Done)
	p.task.SetTotal(now.Total)
	p.task.Set(p.done)
	switch {
	case now.Part.Total > 0:
		p.part(now.Part)
	case now.Step == rebuild.StepIndex && p.done == now.Total:
		p.begin(rebuild.StepFollow, 0) // which is heard of only after its first round
	}
}

// part shows a part that is being folded.
func (p *rebuildProgress) part(now rebuild.Part) {
	key := [2]int{now.Partition, now.Number}
	task := p.parts[key]
	if task == nil {
		task = p.display.Detail(fmt.Sprintf("partition %d", now.Partition), "messages", now.Total)
		p.parts[key] = task
	}
	task.Set(now.Done)
	if now.Done >= now.Total {
		task.Finish()
	}
}

// wait shows why nothing goes on; folding may not have begun.
func (p *rebuildProgress) wait(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.task == nil || p.step == rebuild.StepPlan {
		p.begin(rebuild.StepFold, 0)
	}
	p.task.Note(why)
}

// begin ends one step and shows the next.
func (p *rebuildProgress) begin(step rebuild.Step, total int64) {
	for _, part := range p.parts {
		part.Finish()
	}
	if p.task != nil {
		p.task.Finish()
	}
	name, unit := stepWords(step)
	p.step, p.done = step, 0
	p.task = p.display.Start(name, unit, total)
}

// stepWords are what a step does, and what is counted.
func stepWords(step rebuild.Step) (name, unit string) {
	switch step {
	case rebuild.StepPlan:
		return "planning", ""
	case rebuild.StepFold:
		return "folding", "messages"
	case rebuild.StepIndex:
		return "indexing", "statements"
	case rebuild.StepFollow:
		return "following", "messages"
	case rebuild.StepCompare:
		return "comparing", "rows"
	case rebuild.StepSwitch:
		return "switching", ""
	case rebuild.StepDrop:
		return "dropping", ""
	}
	return string(step), ""
}
