package main

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"callboard/cmd/progress"
	"callboard/projector/rebuild"
)

// rebuildProgress shows the steps of work on a projection. Several goroutines tell it.
type rebuildProgress struct {
	effort  effort
	outlook func() int64 // messages to fold, as far as that is known

	mu      sync.Mutex
	display *progress.Display
	step    rebuild.Step
	task    *progress.Task // of the step; nil before the first
	done    int64          // of the task
	total   int64
	begun   int64       // messages of the partitions' parts that were begun
	parts   []*partTask // the one that was heard of last at the end
}

// partTask is a part of a partition that is being folded.
type partTask struct {
	partition int
	done      int64
	ended     bool           // but for what arrives meanwhile
	task      *progress.Task // nil: not shown
}

func newRebuildProgress(w io.Writer, e effort, outlook func() int64) *rebuildProgress {
	return &rebuildProgress{effort: e, outlook: outlook, display: progress.New(w)}
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
	if now.Step == rebuild.StepFold {
		p.done += p.fold(now)
		p.grow(max(p.begun, p.done))
	} else {
		p.done = max(p.done, now.Done)
	}
	p.task.Set(p.done)
	if now.Step == rebuild.StepIndex && p.done == p.total {
		p.begin(rebuild.StepFollow, 0) // which is heard of only after its first round
	}
}

// wait shows why nothing goes on; folding may not have begun.
func (p *rebuildProgress) wait(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step != rebuild.StepFold {
		p.begin(rebuild.StepFold, 0)
	}
	p.task.Note(why)
}

// begin ends one step and shows the next.
func (p *rebuildProgress) begin(step rebuild.Step, total int64) {
	for _, part := range p.parts {
		if part.task != nil {
			part.task.Finish()
		}
	}
	if p.task != nil {
		p.task.Finish()
	}
	if step == rebuild.StepFold {
		total = p.outlook()
	}
	name, unit := stepWords(step)
	p.step, p.parts, p.begun, p.done, p.total = step, nil, 0, 0, total
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

// grow makes the total no less than what there is for certain. One that isn't known stays so.
func (p *rebuildProgress) grow(least int64) {
	if p.total > 0 && p.total < least {
		p.total = least
		p.task.SetTotal(least)
	}
}

// fold is how many messages more a part of a partition has read. Parts of one partition may be folded at the same time and are
// told apart by how far they are: none comes further than a batch at once.
func (p *rebuildProgress) fold(now rebuild.Progress) (more int64) {
	which := -1
	for i, part := range p.parts {
		more := now.Done - part.done
		if part.partition == now.Partition && more > 0 && more <= int64(p.effort.Batch) && (which < 0 || part.done < p.parts[which].done) {
			which = i
		}
	}
	part := &partTask{partition: now.Partition}
	if which >= 0 {
		part = p.parts[which]
		p.parts = slices.Delete(p.parts, which, which+1)
	} else {
		p.begun += now.Total
	}
	more = now.Done - part.done
	part.done = now.Done
	p.show(part, now.Total)
	p.parts = append(p.parts, part)
	return more
}

// show shows a part. No more are shown than there are workers: nobody says that a part has ended, but what was not heard of for
// longest probably has.
func (p *rebuildProgress) show(part *partTask, total int64) {
	if part.ended {
		return
	}
	if part.task == nil {
		shown := slices.DeleteFunc(slices.Clone(p.parts), func(other *partTask) bool { return other.task == nil })
		if len(shown) >= p.effort.Workers {
			shown[0].task.Finish()
			shown[0].task = nil
		}
		part.task = p.display.Detail(fmt.Sprintf("partition %d", part.partition), "messages", total)
	}
	part.task.Set(part.done)
	if total > 0 && part.done >= total {
		part.task.Finish()
		part.task, part.ended = nil, true
	}
}
