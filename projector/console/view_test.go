package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callboard/events"
	"callboard/projector/deadletter"
	"callboard/projector/status"
)

func pointer[T any](v T) *T { return &v }

// reportOf returns a report of partitions that are current.
func reportOf(now time.Time, partitions int) status.Report {
	r := status.Report{
		Stream: events.StreamName, Messages: 6_621_904, Time: now, ClockAgeSeconds: pointer(0.5), Generation: pointer[int64](7), Migrated: true,
		Generations: []status.Generation{
			{ID: 7, State: status.Live, StartedAt: now.Add(-90 * time.Hour), SwitchedAt: pointer(now.Add(-89 * time.Hour)), Current: true},
		},
	}
	for i := range partitions {
		head := uint64(6_600_000 + 311*i)
		r.Partitions = append(r.Partitions, status.Partition{
			Partition: i, Head: head, Position: head, Watermark: pointer(now.Add(-400 * time.Millisecond)),
			Owner: pointer(fmt.Sprintf("projector@callboard-projector-%d/1", i%2)),
		})
	}
	return r
}

// Each problem is an issue, and its commands can be copied.
func TestView_Issues(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := reportOf(now, 5)
	r.Migrated, r.Generations[0].Current = false, false
	r.Partitions[0].StopReason, r.Partitions[0].StopDetail = "STREAM_DIRECT", "turn it off: 'nats stream edit PHONES --no-allow-direct'"
	r.Partitions[3].Missing = 1
	r.Partitions[1].Owner, r.Partitions[2].Owner = nil, nil
	r.Partitions[4].Watermark = pointer(now.Add(-time.Minute))
	r.DeadLetters = 1234
	var got []string
	for _, i := range newView(now, "PHONES", snapshot{report: &r, readAt: now}, nil).Issues {
		var text strings.Builder
		for _, s := range i.Text {
			if s.Command {
				s.Text = "[" + s.Text + "]"
			}
			text.WriteString(s.Text)
		}
		got = append(got, text.String())
	}
	want := []string{
		"MIGRATION_MISSING: not all of this release's migrations have run: run [callboard migrate].",
		"Partition 0 is stopped: STREAM_DIRECT: turn it off: [nats stream edit PHONES --no-allow-direct].",
		"Partition 3: 1 message up to the position is missing in the message accounting: run [callboard rebuild].",
		"Generation 7 is live and was built by another release: run [callboard rebuild].",
		"No projector owns the partitions 1,2: start one with [CALLBOARD_PARTITIONS=1,2 projector].",
		"The watermark of the partitions 4 is more than 30 s behind. [callboard status --watch] shows the rate, and when the lag will be applied.",
		"Messages that could not be applied: 1,234. The list below says why, and what helps.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("issues =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestView_LimitsIssues(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := reportOf(now, 64)
	for i := range r.Partitions {
		r.Partitions[i].StopReason, r.Partitions[i].StopDetail = "STREAM_REGRESSED", fmt.Sprintf("position %d", i)
	}
	v := newView(now, "PHONES", snapshot{report: &r, readAt: now}, nil)
	if len(v.Issues) != maxIssues || v.MoreIssues != 64-maxIssues {
		t.Errorf("issues = %d, more = %d, want %d and %d", len(v.Issues), v.MoreIssues, maxIssues, 64-maxIssues)
	}
}

// Gaps interrupt the line, a single sample is visible, and values above the scale stay inside the chart.
func TestPaths(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(minutes int, value float64, known bool) sample {
		return sample{now.Add(-time.Duration(minutes) * time.Minute), value, known}
	}
	line, area := paths(now, []sample{
		at(60, 0, true), at(30, 5, true), at(24, 0, false), at(18, 10, true), at(12, 0, false), at(6, 99, true), at(0, 2.5, true),
	}, 10)
	const wantLine = "M0 200L500 100h.1M700 0h.1M900 0L1000 150h.1"
	const wantArea = "M0 200L0 200L500 100L500 200ZM700 200L700 0L700 200ZM900 200L900 0L1000 150L1000 200Z"
	if line != wantLine || area != wantArea {
		t.Errorf("line = %s\narea = %s\nwant %s\nand %s", line, area, wantLine, wantArea)
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var h history
	for i := range 1000 { // more than the history holds
		seconds := 2.0
		if i == 900 {
			seconds = 45
		}
		h.add(sample{now.Add(-time.Duration(999-i) * defaultInterval), seconds, true})
	}
	c := newChart(now, h.samples())
	const want = "Last sample: 2 s. Highest: 45 s, at 11:35. The dashed line is at 30 s."
	if n := len(h.samples()); n != 241 || c.Text != want || c.Top != "60 s" || c.Middle != "30 s" || c.Limit != 100 {
		t.Errorf("samples = %d, chart = %+v, want 241 and %q", n, c, want)
	}
}

func TestConceal(t *testing.T) {
	t.Parallel()
	const text = `{"key":"sk_phones_0123456789ab_secret","url":"https://bucket/a.wav?X-Amz-Signature=secret\u0026a=b","question":"why? because"}`
	const want = `{"key":"sk_phones_(hidden)","url":"https://bucket/a.wav?(hidden)","question":"why? because"}`
	l := deadletter.DeadLetter{ID: 1, State: deadletter.Open, Reason: "x " + text, Subject: "x " + text}
	if v := newDeadLetterView(time.Now(), l); v.Reason != "x "+want || v.Subject != "x "+want {
		t.Errorf("view = %+v, want %s in its reason and subject", v, want)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		number[int64](0): "0", number(uint64(123_456)): "123,456", number(uint64(6_621_904)): "6,621,904",
		span(0.44): "0.4 s", span(72.4): "72 s", span(240): "4 min", span(3600): "60 min", span(7200): "2 h", span(3 * 86400): "3 days",
	} {
		if got != want {
			t.Errorf("text = %q, want %q", got, want)
		}
	}
}
