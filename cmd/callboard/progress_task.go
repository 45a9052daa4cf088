package main

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
)

// progressTask is one piece of work. Its methods may be called from several goroutines.
type progressTask struct {
	display    *progressDisplay
	name, unit string
	started    time.Time
	count      atomic.Int64
	note       atomic.Pointer[string] // atomic because bars read it while the display is locked

	// The display's mutex guards the fields below.
	total    int64 // 0: unknown
	printed  int64 // the count of the last line; -1: none was printed
	finished bool
	bar      *mpb.Bar
}

// Set sets how many units are done.
func (t *progressTask) Set(count int64) {
	t.count.Store(count)
	if t.bar != nil {
		t.bar.SetCurrent(count)
	}
}

// SetTotal changes the total.
func (t *progressTask) SetTotal(total int64) {
	t.display.mu.Lock()
	defer t.display.mu.Unlock()
	t.total = total
	if t.bar != nil {
		t.bar.SetTotal(total, false)
	}
}

// SetNote sets a text that is shown after the numbers; an empty one removes it.
func (t *progressTask) SetNote(note string) { t.note.Store(&note) }

func (t *progressTask) noteText() string {
	if note := t.note.Load(); note != nil && *note != "" {
		return "; " + *note
	}
	return ""
}

// Finish ends the task. Its count becomes its total.
func (t *progressTask) Finish() {
	t.display.mu.Lock()
	defer t.display.mu.Unlock()
	if t.finished {
		return
	}
	t.finished, t.total = true, min(t.total, t.count.Load())
	t.SetNote("")
	switch {
	case t.bar != nil:
		t.endBar()
	case t.printed >= 0 && t.printed != t.count.Load():
		t.display.println(t.line())
	}
}

// line returns the task's state as text and remembers the count.
func (t *progressTask) line() string {
	count := t.count.Load()
	t.printed = count
	if t.unit == "" {
		return t.name + t.noteText()
	}
	return t.name + ": " + t.countText(count) + t.rateText(count, t.total) + t.noteText()
}

func (t *progressTask) countText(count int64) string {
	if t.total == 0 {
		return fmt.Sprintf("%d %s", count, t.unit)
	}
	return fmt.Sprintf("%d of %d %s (%d%%)", count, t.total, t.unit, count*100/t.total)
}

// rateText is the rate since the start, and the time that the rest takes at that rate.
func (t *progressTask) rateText(count, total int64) string {
	seconds := time.Since(t.started).Seconds()
	if seconds <= 0 {
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
