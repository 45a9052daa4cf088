// Package progress shows people how far a long piece of work has come: bars on a terminal, a line every now and then elsewhere.
package progress

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
)

// Display is where progress is shown. Close it.
type Display struct {
	out      io.Writer
	terminal bool

	mu    sync.Mutex // guards what follows, and what tasks say
	tasks []*Task
	bars  *mpb.Progress // nil before the first

	stop     chan struct{}
	stopOnce sync.Once
	lines    sync.WaitGroup
}

// lineInterval is how long a display without bars is silent, and how short a task must be to leave no trace there.
const lineInterval = 1500 * time.Millisecond

// New is a display on out.
func New(out io.Writer) *Display {
	d := &Display{out: out, terminal: IsTerminal(out), stop: make(chan struct{})}
	d.lines.Go(d.report)
	return d
}

// IsTerminal tells whether somebody looks at what is written to w, and on something that has a size.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || !cwriter.IsTerminal(int(f.Fd())) {
		return false
	}
	width, _, err := cwriter.GetSize(int(f.Fd()))
	return err == nil && width > 0
}

// Say shows a line of its own.
func (d *Display) Say(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say(line)
}

func (d *Display) say(line string) {
	// What can't be shown is nobody's loss.
	if d.bars != nil {
		_, _ = d.bars.Write([]byte(line + "\n"))
		return
	}
	_, _ = io.WriteString(d.out, line+"\n")
}

// Start shows a task of so many units; 0 where that is not known. Without a unit nothing is counted.
func (d *Display) Start(name, unit string, total int64) *Task {
	return d.start(&Task{display: d, name: name, unit: unit, total: total, began: time.Now(), said: -1})
}

// Await shows a task that others do, without a pace: nobody knows when they come to it.
func (d *Display) Await(name, unit string, total int64) *Task {
	return d.start(&Task{display: d, name: name, unit: unit, total: total, began: time.Now(), said: -1, uneven: true})
}

func (d *Display) start(t *Task) *Task {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tasks = append(d.tasks, t)
	if d.terminal {
		t.bar = d.newBar(t)
	}
	return t
}

// Detail shows a task that is a piece of another one: a bar until it is finished, and nothing where there are no bars.
func (d *Display) Detail(name, unit string, total int64) *Task {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &Task{display: d, name: name, unit: unit, total: total, began: time.Now(), finished: !d.terminal}
	d.tasks = append(d.tasks, t)
	if d.terminal {
		t.bar = d.newBar(t, mpb.BarRemoveOnComplete())
	}
	return t
}

// Close ends the display where it stands and returns once all of it is shown. Closing twice is harmless.
func (d *Display) Close() {
	d.stopOnce.Do(d.end)
}

func (d *Display) end() {
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

// report writes lines every now and then until the display is closed.
func (d *Display) report() {
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

// reportTasks writes a line for each task without a bar that is under way, and a last one once it is done.
func (d *Display) reportTasks() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tasks {
		if t.bar != nil || t.finished || t.total > 0 && t.said >= t.total {
			continue
		}
		d.say(t.line())
	}
}
