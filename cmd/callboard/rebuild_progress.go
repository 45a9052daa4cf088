package main

import (
	"fmt"
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
	task    *progress.Task            // of the step; nil before the first
	done    int64                     // of the task
	parts   map[[2]int]*progress.Task // that are being folded, by partition and number
}

func newRebuildProgress(w io.Writer) *rebuildProgress {
	return &rebuildProgress{display: progress.New(w), parts: make(map[[2]int]*progress.Task)}
}

func (p *rebuildProgress) close() { p.display.Close() }

// set shows the current step. Workers report concurrently, so a call can be about a step that has ended.
func (p *rebuildProgress) set(now rebuild.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step == rebuild.StepFollow && now.Step == rebuild.StepIndex {
		return
	}
	if p.step != now.Step {
		p.start(now.Step, now.Total)
	}
	p.done = max(p.done, now.Done)
	p.task.SetTotal(now.Total)
	p.task.Set(p.done)
	switch {
	case now.Part.Total > 0:
		p.setPart(now.Part)
	case now.Step == rebuild.StepIndex && p.done == now.Total:
		p.start(rebuild.StepFollow, 0) // following reports only after its first round
	}
}

func (p *rebuildProgress) setPart(now rebuild.Part) {
	key := [2]int{now.Partition, now.Number}
	task := p.parts[key]
	if task == nil {
		task = p.display.StartPart(fmt.Sprintf("partition %d", now.Partition), "messages", now.Total)
		p.parts[key] = task
	}
	task.Set(now.Done)
	if now.Done >= now.Total {
		task.Finish()
	}
}

// waiting shows why the rebuild waits; an empty text removes it. Reading may not have started yet.
func (p *rebuildProgress) waiting(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.task == nil || p.step == rebuild.StepPlan {
		p.start(rebuild.StepRead, 0)
	}
	p.task.SetNote(why)
}

// start ends the current step and shows the next.
func (p *rebuildProgress) start(step rebuild.Step, total int64) {
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

// stepWords are the name of a step and the unit that it counts.
func stepWords(step rebuild.Step) (name, unit string) {
	switch step {
	case rebuild.StepPlan:
		return "planning", ""
	case rebuild.StepRead:
		return "reading", "messages"
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
