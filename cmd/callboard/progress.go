package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"callboard/internal/run"
)

// progress shows one task after the other: on a terminal as a bar in a line that changes, otherwise as a line at
// intervals. Its methods may be called from several goroutines. Close it.
type progress struct {
	out      io.Writer
	terminal bool
	stop     func()

	mu   sync.Mutex // guards the output and what follows
	task task
	note string
}

// task is a piece of work. The zero value is none.
type task struct {
	name, unit   string
	started      time.Time
	count, total int64 // of units; total 0: unknown
	printed      int64 // the count of the last line; -1: none was printed
}

const (
	barInterval  = 100 * time.Millisecond
	lineInterval = 1500 * time.Millisecond // a task that ends earlier prints nothing
)

// newProgress returns a display on out, which shows nothing yet.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out, terminal: run.IsTerminal(out)}
	interval := lineInterval
	if p.terminal {
		interval = barInterval
	}

	// The task is shown for the last time once nothing else shows it.
	ctx, cancel := context.WithCancel(context.Background())
	var reports sync.WaitGroup
	reports.Go(func() { p.reportEvery(ctx, interval) })
	p.stop = sync.OnceFunc(func() {
		cancel()
		reports.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.endTask()
	})

	return p
}

// reportEvery shows the task at intervals until ctx ends.
func (p *progress) reportEvery(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.report()
		}
	}
}

// Show shows how many units of a task are done. A total of 0 is unknown, and a task without a unit shows no numbers.
// Another name begins another task. A count that is lower than the last one of the task changes nothing.
func (p *progress) Show(name, unit string, count, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.task.name != name {
		p.endTask()
		p.task = task{name: name, unit: unit, started: time.Now(), printed: -1}
	}
	p.task.count, p.task.total = max(p.task.count, count), total
}

// SetNote sets a text that is shown behind the numbers; an empty one removes it.
func (p *progress) SetNote(note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note = note
}

// Println ends the task and prints a line.
func (p *progress) Println(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endTask()
	p.write(line + "\n")
}

// Close ends the task. It may be called twice.
func (p *progress) Close() { p.stop() }

// report shows the task as it is now, unless a line has shown it as done.
func (p *progress) report() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch t := p.task; {
	case t.name == "":
	case p.terminal:
		p.drawBar()
	case t.total == 0 || t.printed < t.total:
		p.write(p.line() + "\n")
	}
	p.task.printed = p.task.count
}

// endTask shows the task for the last time, if it was shown before.
func (p *progress) endTask() {
	switch t := p.task; {
	case t.name == "" || t.printed < 0:
	case p.terminal:
		p.drawBar()
		p.write("\n")
	case t.printed != t.count:
		p.write(p.line() + "\n")
	}
	p.task, p.note = task{}, ""
}

// drawBar replaces the line of a terminal. What does not fit is cut, because the terminal does not wrap it.
func (p *progress) drawBar() { p.write("\r\x1b[K\x1b[?7l" + p.line() + "\x1b[?7h") }

// write ignores errors: progress that can't be shown does not fail a command.
func (p *progress) write(text string) { _, _ = io.WriteString(p.out, text) }

// line is the task as text.
func (p *progress) line() string {
	t, text := p.task, p.task.name

	switch {
	case t.unit == "":
	case t.total == 0:
		text += fmt.Sprintf(": %d %s", t.count, t.unit) + t.rate()
	default:
		percent := t.count * 100 / t.total
		if p.terminal {
			const width = 20
			done := min(int(percent*width/100), width)
			text += " [" + strings.Repeat("=", done) + strings.Repeat(" ", width-done) + "]"
		}

		text += fmt.Sprintf(": %d of %d %s (%d%%)", t.count, t.total, t.unit, percent) + t.rate()
	}

	if p.note != "" {
		text += "; " + p.note
	}
	return text
}

// rate is the rate since the start, and the time that the rest takes at that rate.
func (t task) rate() string {
	seconds := time.Since(t.started).Seconds()
	if seconds <= 0 {
		return ""
	}

	rate := float64(t.count) / seconds
	text := fmt.Sprintf(", %.0f/s", rate)
	if rate > 0 && t.count < t.total {
		left := math.Ceil(float64(t.total-t.count) / rate)
		text += ", " + (time.Duration(left) * time.Second).String() + " left"
	}

	return text
}
