package main

import (
	"io"
	"time"

	"callboard/cmd/progress"
)

const progressDelay = 2 * time.Second

// delayedProgress shows the progress of a command that takes longer than progressDelay. Close it.
type delayedProgress struct {
	out     io.Writer
	started time.Time
	display *progress.Display         // nil before progressDelay
	tasks   map[string]*progress.Task // by name
}

func newDelayedProgress(out io.Writer) *delayedProgress {
	return &delayedProgress{out: out, started: time.Now(), tasks: make(map[string]*progress.Task)}
}

// begin creates the display after progressDelay, and reports whether there is one.
func (p *delayedProgress) begin() bool {
	if p.display == nil && time.Since(p.started) >= progressDelay {
		p.display = progress.New(p.out)
	}
	return p.display != nil
}

func (p *delayedProgress) published(done, total int) { p.setDeadLetters("publishing", done, total) }

func (p *delayedProgress) decided(done, total int) {
	p.setDeadLetters("waiting for the projectors", done, total)
}

func (p *delayedProgress) setDeadLetters(name string, done, total int) {
	p.set((*progress.Display).StartWithoutRate, name, "dead letters", int64(done), int64(total))
}

func (p *delayedProgress) skipped(deliveries int64) {
	p.set((*progress.Display).Start, "skipping", "deliveries", deliveries, 0)
}

// set shows a task, which the first call starts.
func (p *delayedProgress) set(start func(*progress.Display, string, string, int64) *progress.Task, name, unit string, done, total int64) {
	if !p.begin() {
		return
	}
	if p.tasks[name] == nil {
		p.tasks[name] = start(p.display, name, unit, total)
	}
	p.tasks[name].Set(done)
}

// waiting says once that a command waits for a sender.
func (p *delayedProgress) waiting() {
	if p.display == nil && p.begin() {
		p.display.Println("waiting for a sender to send the test")
	}
}

func (p *delayedProgress) close() {
	if p.display != nil {
		p.display.Close()
	}
}
