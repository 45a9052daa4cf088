package console

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// window is the time that the chart covers.
const window = time.Hour

// sample is the age of the oldest watermark in seconds.
type sample struct {
	at      time.Time
	seconds float64
	known   bool // it could be read
}

// history holds the last hour's samples.
type history struct {
	mu   sync.Mutex
	list []sample
}

// add adds a sample, and forgets those that the chart does not show any more.
func (h *history) add(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = slices.DeleteFunc(append(h.list, s), func(old sample) bool { return s.at.Sub(old.at) > window })
}

// samples returns the samples, the oldest first.
func (h *history) samples() []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list)
}

// The coordinates of a chart. The page stretches it to the width that it has.
const (
	chartWidth  = 1000
	chartHeight = 200
)

// chart is the lag over the last hour.
type chart struct {
	Line, Area string // SVG paths
	Limit      int    // the height of the line above which a partition is behind; -1: outside the chart
	Top        string // the value at the upper edge
	Middle     string
	Text       string // the chart in words
}

// newChart returns the chart of samples; without any, its line is empty.
func newChart(now time.Time, samples []sample) chart {
	var highest, last sample
	for _, s := range samples {
		if !s.known {
			continue
		}

		last = s
		if !highest.known || s.seconds > highest.seconds {
			highest = s
		}
	}

	c := chart{Limit: -1, Text: "There is no sample yet."}
	if !highest.known {
		return c
	}

	top := scale(highest.seconds)
	c.Top, c.Middle = span(top), span(top/2)
	c.Line, c.Area = paths(now, samples, top)
	c.Text = fmt.Sprintf("Last sample: %s. Highest: %s, at %s.",
		span(last.seconds), span(highest.seconds), highest.at.UTC().Format("15:04"))

	// The dashed line is drawn only where the chart reaches it.
	if limit := behindAfter.Seconds(); limit < top {
		c.Limit = height(limit, top)
		c.Text += " The dashed line is at " + span(limit) + "."
	}

	return c
}

// paths returns a line through the samples, and the area below it. Both are interrupted where a sample is not known.
func paths(now time.Time, samples []sample, top float64) (line, area string) {
	var l, a strings.Builder
	var run []string
	first, last := 0, 0 // horizontal coordinates of the run

	// A run of known samples is one piece of the line.
	flush := func() {
		if len(run) > 0 {
			points := strings.Join(run, "L")
			fmt.Fprintf(&l, "M%sh.1", points) // a line of one point would be invisible
			fmt.Fprintf(&a, "M%d %dL%sL%d %dZ", first, chartHeight, points, last, chartHeight)
		}
		run = nil
	}

	for _, s := range samples {
		if !s.known {
			flush()
			continue
		}

		// The present is at the right edge.
		last = max(chartWidth-int(now.Sub(s.at)*chartWidth/window), 0)
		if len(run) == 0 {
			first = last
		}

		run = append(run, fmt.Sprintf("%d %d", last, height(s.seconds, top)))
	}

	flush()
	return l.String(), a.String()
}

// height returns the vertical coordinate of a value.
func height(value, top float64) int { return chartHeight - int(min(value/top, 1)*chartHeight) }

// scale returns a value above the highest one that people can divide.
func scale(highest float64) float64 {
	for _, top := range []float64{10, 20, 60, 120, 240, 600, 1200, 3600, 7200, 6 * 3600, 12 * 3600} {
		if highest <= top {
			return top
		}
	}
	top := 86400.0
	for top < highest {
		top *= 2
	}
	return top
}
