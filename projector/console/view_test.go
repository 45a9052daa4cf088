package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callboard/projector/status"
)

// Partitions with the same problem share an issue, and commands can be copied.
func TestProblemIssues(t *testing.T) {
	t.Parallel()
	r := status.Report{Generations: []status.Generation{{ID: 3, State: status.Live}}}
	for i := range 5 {
		p := status.Partition{Partition: i, StopReason: "STREAM_DIRECT", StopDetail: "turn it off: 'nats stream edit PHONES --no-allow-direct'"}
		if i == 3 {
			p = status.Partition{Partition: 3, Missing: 1}
		}
		r.Partitions = append(r.Partitions, p)
	}
	var got []string
	for _, n := range problemIssues(r.Problems()) {
		var text strings.Builder
		text.WriteString(n.Subject + ": ")
		for _, s := range n.Text {
			if s.Command {
				s.Text = "[" + s.Text + "]"
			}
			text.WriteString(s.Text)
		}
		got = append(got, text.String())
	}
	want := []string{
		"Projection: MIGRATION_MISSING: not all of this release's migrations have run: run [callboard migrate].",
		"Partitions 0-2, 4: Stopped: STREAM_DIRECT: turn it off: [nats stream edit PHONES --no-allow-direct].",
		"Partition 3: 1 message up to the position is missing in the message accounting: run [callboard rebuild].",
		"Projection: Generation 3 is live and was built by another release: run [callboard rebuild].",
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
	at := func(minutes int, value float64, known bool) point {
		return point{now.Add(-time.Duration(minutes) * time.Minute), value, known}
	}
	line, area := paths([]point{
		at(60, 0, true), at(30, 5, true), at(24, 0, false), at(18, 10, true), at(12, 0, false), at(6, 99, true), at(0, 2.5, true),
	}, now, 10)
	const wantLine = "M0 200L500 100h.1M700 0h.1M900 0L1000 150h.1"
	const wantArea = "M0 200L0 200L500 100L500 200ZM700 200L700 0L700 200ZM900 200L900 0L1000 150L1000 200Z"
	if line != wantLine || area != wantArea {
		t.Errorf("line = %s\narea = %s\nwant %s\nand %s", line, area, wantLine, wantArea)
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := newHistory(defaultInterval)
	for i := range 1000 { // more than the history holds
		ages := map[int]time.Duration{0: time.Second, 5: 2 * time.Second}
		if i == 900 {
			ages[5] = 45 * time.Second
		}
		h.add(now.Add(-time.Duration(999-i)*defaultInterval), ages)
	}
	list := h.samples()
	c := newChart(now, list)
	const want = "Last sample: 2 s. Highest: 45 s, at 11:35 in partition 5. The dashed line is at 30 s."
	if len(list) != 241 || c.Text != want || c.Top != "60 s" || c.Middle != "30 s" || c.Limit != 100 {
		t.Errorf("samples = %d, chart = %+v, want 241 and %q", len(list), c, want)
	}
	if spark := c.spark(now, list, 0); strings.Count(spark, "L") != sparkBuckets-1 {
		t.Errorf("small chart = %s, want %d points", spark, sparkBuckets)
	}
	if spark := c.spark(now, list, 3); spark != "" {
		t.Errorf("small chart of a partition without samples = %s, want none", spark)
	}
}

func TestConceal(t *testing.T) {
	t.Parallel()
	const text = `{"key":"sk_phones_0123456789ab_secret","url":"https://bucket/a.wav?X-Amz-Signature=secret\u0026a=b","question":"why? because"}`
	const want = `{"key":"sk_phones_(hidden)","url":"https://bucket/a.wav?(hidden)","question":"why? because"}`
	l := letterOf(time.Now(), 1)
	l.Data, l.Reason, l.Subject = []byte("x "+text), "x "+text, "x "+text
	l.Header["ce-id"] = []string{text}
	v := newDeadLetterView(time.Now(), l)
	if v.Text != "x "+want || v.Reason != "x "+want || v.Subject != "x "+want || !strings.Contains(v.Headers, want) {
		t.Errorf("view = %+v, want %s in its data, reason, subject and headers", v, want)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		number(0): "0", number(-1234): "-1,234", number(uint64(6_621_904)): "6,621,904", plural(1, "event", "events"): "1 event",
		span(0.44): "0.4 s", span(72.4): "72 s", span(140): "2.3 min", span(240): "4 min", span(3600): "60 min", span(7200): "2 h", span(3 * 86400): "3 days",
		numberList([]int{0, 1, 2, 5, 6, 9}, ", "): "0-2, 5, 6, 9", numberList(nil, ","): "",
	} {
		if got != want {
			t.Errorf("text = %q, want %q", got, want)
		}
	}
}
