package progress

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
)

// Task is one piece of work. Its methods may be called from several goroutines.
type Task struct {
	display    *Display
	name, unit string
	began      time.Time
	count      atomic.Int64
	uneven     bool                   // its pace says nothing about its end
	note       atomic.Pointer[string] // bars ask for it while the display is locked

	// What follows is guarded by the display.
	total    int64 // 0: not known
	said     int64 // what the last line said; -1: there was none
	finished bool
	bar      *mpb.Bar
}

// Set says how much of the task is done.
func (t *Task) Set(count int64) {
	t.count.Store(count)
	if t.bar != nil {
		t.bar.SetCurrent(count)
	}
}

// SetTotal says how much there is to do after all.
func (t *Task) SetTotal(total int64) {
	t.display.mu.Lock()
	defer t.display.mu.Unlock()
	t.total = total
	if t.bar != nil {
		t.bar.SetTotal(total, false)
	}
}

// Note says something beside the numbers, until it is said otherwise.
func (t *Task) Note(note string) { t.note.Store(&note) }

func (t *Task) noted() string {
	if note := t.note.Load(); note != nil && *note != "" {
		return "; " + *note
	}
	return ""
}

// Finish ends the task: what is done was all of it.
func (t *Task) Finish() {
	t.display.mu.Lock()
	defer t.display.mu.Unlock()
	if t.finished {
		return
	}
	t.finished, t.total = true, min(t.total, t.count.Load())
	t.Note("")
	switch {
	case t.bar != nil:
		t.endBar()
	case t.said >= 0 && t.said != t.count.Load():
		t.display.say(t.line())
	}
}

// line is how far the task is, in words.
func (t *Task) line() string {
	count := t.count.Load()
	t.said = count
	if t.unit == "" {
		return t.name + t.noted()
	}
	return t.name + ": " + t.counted(count) + t.pace(count, t.total) + t.noted()
}

func (t *Task) counted(count int64) string {
	if t.total == 0 {
		return fmt.Sprintf("%d %s", count, t.unit)
	}
	return fmt.Sprintf("%d of %d %s (%d%%)", count, t.total, t.unit, count*100/t.total)
}

// pace is the rate since the beginning, and how long the rest takes at that rate.
func (t *Task) pace(count, total int64) string {
	seconds := time.Since(t.began).Seconds()
	if t.uneven || seconds <= 0 {
		return ""
	}
	rate := float64(count) / seconds
	text := fmt.Sprintf(", %.0f/s", rate)
	if rate > 0 && count < total {
		left := math.Ceil(float64(total-count) / rate)
		text += ", " + (time.Duration(left) * time.Second).String() + " left"
	}
	return text
}
