package main

import (
	"fmt"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// newBar shows a task on a terminal: a bar, or the numbers alone if the total is unknown. The task completes the bar,
// since its total can change.
func (d *progressDisplay) newBar(t *progressTask) *mpb.Bar {
	if d.bars == nil {
		d.bars = mpb.New(mpb.WithOutput(d.out), mpb.WithWidth(60))
	}
	style, share := mpb.BarFillerBuilder(mpb.BarStyle()), decor.Percentage(decor.WCSyncSpace)
	if t.total == 0 {
		style, share = mpb.NopStyle(), decor.Name("")
	}
	bar := d.bars.New(0, style,
		mpb.PrependDecorators(decor.Name(t.name, decor.WCSyncSpaceR), decor.Any(t.barCount, decor.WCSyncSpace)),
		mpb.AppendDecorators(share, decor.Any(t.barTail)))
	bar.SetTotal(t.total, false)
	return bar
}

func (t *progressTask) barCount(s decor.Statistics) string {
	switch {
	case t.unit == "":
		return ""
	case s.Total == 0:
		return fmt.Sprintf("%d %s", s.Current, t.unit)
	}
	return fmt.Sprintf("%d / %d %s", s.Current, s.Total, t.unit)
}

func (t *progressTask) barTail(s decor.Statistics) string {
	text := ""
	if t.unit != "" && !s.Completed {
		text = t.rateText(s.Current, s.Total)
	}
	return text + t.noteText()
}

// endBar ends the bar at its current count, or completes it if everything is done.
func (t *progressTask) endBar() {
	switch {
	case t.bar == nil:
	case t.finished || t.count.Load() >= t.total:
		t.bar.SetTotal(-1, true)
	default:
		t.bar.Abort(false) // no effect on one that is complete
	}
}
