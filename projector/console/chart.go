package console

import (
	"fmt"
	"strings"
	"time"
)

// The coordinates of a chart. The page stretches it to the width that it has.
const (
	chartWidth  = 1000
	chartHeight = 200

	// sparkBuckets is the number of points of a small chart: one per minute, the highest of its samples.
	sparkBuckets = int(window / time.Minute)
)

// point is a value at a time; a point that is not known is a gap.
type point struct {
	at    time.Time
	value float64
	known bool
}

// chart is the lag over the last hour.
type chart struct {
	Line, Area string // SVG paths
	Limit      int    // the height of the line above which a partition is behind; -1: outside the chart
	Top        string // the value at the upper edge
	Middle     string
	Text       string // the chart in words
	Empty      bool
	scale      float64
}

// newChart returns the chart of the partition that is furthest behind at each time.
func newChart(now time.Time, samples []sample) chart {
	points := make([]point, len(samples))
	var highest, last point
	var partition int
	for i, s := range samples {
		number, seconds, ok := s.oldest()
		points[i] = point{s.at, seconds, ok}
		if ok && (!highest.known || seconds > highest.value) {
			highest, partition = points[i], number
		}
		if ok {
			last = points[i]
		}
	}
	top := niceTop(highest.value)
	c := chart{scale: top, Top: span(top), Middle: span(top / 2), Limit: -1, Empty: !highest.known}
	if c.Empty {
		c.Text = "There is no sample yet."
		return c
	}
	c.Line, c.Area = paths(points, now, top)
	c.Text = fmt.Sprintf("Last sample: %s. Highest: %s, at %s in partition %d.",
		span(last.value), span(highest.value), highest.at.UTC().Format("15:04"), partition)
	if limit := behindAfter.Seconds(); limit < top {
		c.Limit = height(limit, top)
		c.Text += " The dashed line is at " + span(limit) + "."
	}
	return c
}

// spark returns the line of one partition at the scale of the chart.
func (c chart) spark(now time.Time, samples []sample, partition int) string {
	start := now.Add(-window)
	points := make([]point, sparkBuckets)
	for i := range points {
		points[i].at = start.Add((time.Duration(i) * window) / time.Duration(sparkBuckets))
	}
	for _, s := range samples {
		i := int(s.at.Sub(start) * time.Duration(sparkBuckets) / window)
		seconds, ok := s.age(partition)
		if !ok || i < 0 {
			continue
		}
		p := &points[min(i, sparkBuckets-1)]
		p.value, p.known = max(p.value, seconds), true
	}
	line, _ := paths(points, now, c.scale)
	return line
}

// paths returns a line through the points, and the area below it. Both are interrupted at gaps.
func paths(points []point, now time.Time, top float64) (line, area string) {
	var l, a strings.Builder
	var run []string
	flush := func() {
		if len(run) == 0 {
			return
		}
		first, _, _ := strings.Cut(run[0], " ")
		end, _, _ := strings.Cut(run[len(run)-1], " ")
		fmt.Fprintf(&l, "M%sh.1", strings.Join(run, "L")) // a line of one point would be invisible
		fmt.Fprintf(&a, "M%s %dL%sL%s %dZ", first, chartHeight, strings.Join(run, "L"), end, chartHeight)
		run = nil
	}
	for _, p := range points {
		if !p.known {
			flush()
			continue
		}
		x := max(chartWidth-int(now.Sub(p.at)*chartWidth/window), 0)
		run = append(run, fmt.Sprintf("%d %d", x, height(p.value, top)))
	}
	flush()
	return l.String(), a.String()
}

// height returns the vertical coordinate of a value.
func height(value, top float64) int { return chartHeight - int(min(value/top, 1)*chartHeight) }

// niceTop returns a value above the highest one that people can divide.
func niceTop(highest float64) float64 {
	for _, top := range []float64{10, 20, 60, 120, 240, 600, 1200, 3600, 7200, 6 * 3600, 12 * 3600, 86400} {
		if highest <= top {
			return top
		}
	}
	top := float64(2 * 86400)
	for top < highest {
		top *= 2
	}
	return top
}
