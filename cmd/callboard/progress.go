package main

import (
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"

	"callboard/internal/run"
)

// progressDisplay shows the progress of tasks. Close it.
type progressDisplay struct {
	out      io.Writer
	terminal bool

	mu    sync.Mutex // guards tasks and bars, the tasks' fields below its own comment, and the output
	tasks []*progressTask
	bars  *mpb.Progress // nil before the first bar

	stop     chan struct{}
	stopOnce sync.Once
	lines    sync.WaitGroup
}

// lineInterval is the time between lines of a display without bars. A task that ends earlier prints nothing.
const lineInterval = 1500 * time.Millisecond

// newProgress returns a display on out.
func newProgress(out io.Writer) *progressDisplay {
	d := &progressDisplay{out: out, terminal: run.IsTerminal(out), stop: make(chan struct{})}
	d.lines.Go(d.report)
	return d
}

// Println prints a line above the bars.
func (d *progressDisplay) Println(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.println(line)
}

// println ignores write errors: progress that can't be shown does not fail a command.
func (d *progressDisplay) println(line string) {
	if d.bars != nil {
		_, _ = d.bars.Write([]byte(line + "\n"))
		return
	}
	_, _ = io.WriteString(d.out, line+"\n")
}

// Start shows a task of total units; 0 means unknown. A task without a unit shows no numbers.
func (d *progressDisplay) Start(name, unit string, total int64) *progressTask {
	t := &progressTask{display: d, name: name, unit: unit, started: time.Now(), total: total, printed: -1}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tasks = append(d.tasks, t)
	if d.terminal {
		t.bar = d.newBar(t)
	}
	return t
}

// Close stops the display and returns when everything is printed. It may be called twice.
func (d *progressDisplay) Close() { d.stopOnce.Do(d.end) }

func (d *progressDisplay) end() {
	close(d.stop)
	d.lines.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bars == nil {
		return
	}
	for _, t := range d.tasks {
		t.endBar()
	}
	d.bars.Wait()
}

// report prints lines at intervals until the display is closed.
func (d *progressDisplay) report() {
	tick := time.NewTicker(lineInterval)
	defer tick.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
			d.reportTasks()
		}
	}
}

// reportTasks prints a line for each unfinished task without a bar, and one for a task that has reached its total.
func (d *progressDisplay) reportTasks() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tasks {
		if t.bar != nil || t.finished || t.total > 0 && t.printed >= t.total {
			continue
		}
		d.println(t.line())
	}
}
