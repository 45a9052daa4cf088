package status_test

import (
	"slices"
	"strings"
	"testing"

	"callboard/events"
	"callboard/projector/status"
)

// Clock messages are no events. None or an old one is a problem while a projector runs.
func TestRead_ClockMessages(t *testing.T) {
	h := newHarnessWithEvents(t)
	if _, err := h.JetStream.Publish(t.Context(), events.ClockSubject, nil); err != nil {
		t.Fatal(err)
	}
	report := h.read()
	if report.ClockAgeSeconds == nil || *report.ClockAgeSeconds < 0 || *report.ClockAgeSeconds > 3600 || report.Messages != 9 {
		t.Errorf("age = %v, messages = %d, want less than an hour, 9", report.ClockAgeSeconds, report.Messages)
	}
	if slices.ContainsFunc(report.Problems(), isClockProblem) {
		t.Errorf("problems = %q, want none about clock messages", report.Problems())
	}
}

func TestReport_ClockProblems(t *testing.T) {
	t.Parallel()
	owner := "projector"
	owned := []status.Partition{{}, {Owner: &owner}}
	recent, old := 69.0, 71.0
	for name, test := range map[string]struct {
		report status.Report
		want   bool
	}{
		"nobody runs":   {status.Report{Migrated: true, Partitions: owned[:1]}, false},
		"none":          {status.Report{Migrated: true, Partitions: owned}, true},
		"a recent one":  {status.Report{Migrated: true, Partitions: owned, ClockAgeSeconds: &recent}, false},
		"an old one":    {status.Report{Migrated: true, Partitions: owned, ClockAgeSeconds: &old}, true},
		"old, none own": {status.Report{Migrated: true, Partitions: owned[:1], ClockAgeSeconds: &old}, false},
	} {
		if got := slices.ContainsFunc(test.report.Problems(), isClockProblem); got != test.want {
			t.Errorf("%s: problems = %q, want one about clock messages: %t", name, test.report.Problems(), test.want)
		}
	}
}

func isClockProblem(problem string) bool { return strings.Contains(problem, "clock message") }

// Watermarks that do not move during a rebuild from another stream are a problem.
func TestRead_RebuildFromAnotherStream(t *testing.T) {
	h := newHarnessWithEvents(t)
	if problems := h.read().Problems(); len(problems) > 0 && strings.Contains(strings.Join(problems, "\n"), "watermarks do not pass") {
		t.Errorf("problems = %q, want none about a limit of watermarks", problems)
	}
	h.Exec("insert into control.stream select distinct stream, 4, '2026-03-01T00:00:00Z'::timestamptz from projection.position")
	report := h.read()
	if problems := report.Problems(); !slices.ContainsFunc(problems, func(p string) bool {
		return strings.HasPrefix(p, "watermarks do not pass 2026-03-01T00:00:00Z")
	}) {
		t.Errorf("problems = %q, want that watermarks do not pass a time", problems)
	}
}
