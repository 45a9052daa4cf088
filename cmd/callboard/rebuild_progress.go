package main

import (
	"io"
	"sync"

	"callboard/cmd/progress"
	"callboard/projector/rebuild"
)

// rebuildProgress shows the steps of a rebuild. Its methods may be called from several goroutines.
type rebuildProgress struct {
	mu      sync.Mutex
	display *progress.Display
	step    rebuild.Step
	task    *progress.Task // of the step; nil before the first
	done    int64          // of the task
}

func newRebuildProgress(w io.Writer) *rebuildProgress {
	return &rebuildProgress{display: progress.New(w)}
}

func (p *rebuildProgress) close() { p.display.Close() }

// set shows the current step.
func (p *rebuildProgress) set(now rebuild.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step != now.Step {
		p.start(now.Step, now.Total)
	}
	p.done = max(p.done, now.Done)
	p.task.SetTotal(now.Total)
	p.task.Set(p.done)
}

// waiting shows why the rebuild waits; an empty text removes it.
func (p *rebuildProgress) waiting(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.task == nil {
		p.start(rebuild.StepPlan, 0)
	}
	p.task.SetNote(why)
}

// start ends the current step and shows the next.
func (p *rebuildProgress) start(step rebuild.Step, total int64) {
	if p.task != nil {
		p.task.Finish()
	}
	name, unit := stepWords(step)
	p.step, p.done = step, 0
	p.task = p.display.Start(name, unit, total)
}

// stepWords are the name of a step and the unit that it counts.
func stepWords(step rebuild.Step) (name, unit string) {
	switch step {
	case rebuild.StepPlan:
		return "planning", ""
	case rebuild.StepLoad:
		return "loading", "messages"
	case rebuild.StepIndex:
		return "indexing", "statements"
	case rebuild.StepCompare:
		return "comparing", "tables"
	case rebuild.StepSwitch:
		return "switching", ""
	case rebuild.StepDrop:
		return "dropping", ""
	}
	return string(step), ""
}
