package fault_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// summary collects what a run logs at its end.
type summary struct {
	start    time.Time
	recovery map[string][]time.Duration // from the end of each kind of fault until callboard had recovered
	checks   []string
	totals   []string
}

func newSummary() *summary {
	return &summary{start: time.Now(), recovery: map[string][]time.Duration{}}
}

func (s *summary) addTotal(format string, values ...any) {
	s.totals = append(s.totals, fmt.Sprintf(format, values...))
}

func (h *harness) logSummary() {
	h.tb.Helper()
	s := h.summary
	var b strings.Builder
	b.WriteString("\nfaults that were waited for, and the slowest recovery\n")
	for _, kind := range slices.Sorted(maps.Keys(s.recovery)) {
		fmt.Fprintf(&b, "%-50s %6d %12s\n", kind, len(s.recovery[kind]), round(slices.Max(s.recovery[kind])))
	}
	fmt.Fprintf(&b, "%d events published\n", h.load.published.Load())
	for _, line := range slices.Concat(s.totals, s.checks) {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "took %s\n", round(time.Since(s.start)))
	h.tb.Log(b.String())
}
