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
	faults   map[string]int
	recovery map[string][]time.Duration // from the end of a fault until all partitions had caught up and all readers answered
	checks   []string
	totals   []string
}

func newSummary() *summary {
	return &summary{start: time.Now(), faults: map[string]int{}, recovery: map[string][]time.Duration{}}
}

func (s *summary) addFault(kind string, recovery ...time.Duration) {
	s.faults[kind]++
	s.recovery[kind] = append(s.recovery[kind], recovery...)
}

func (s *summary) addTotal(format string, values ...any) {
	s.totals = append(s.totals, fmt.Sprintf(format, values...))
}

func (h *harness) logSummary() {
	h.tb.Helper()
	s := h.summary
	var b strings.Builder
	b.WriteString("\n")
	if len(s.faults) > 0 {
		fmt.Fprintf(&b, "%-50s %6s %12s %12s\n", "fault", "count", "recovery p50", "recovery max")
	}
	for _, kind := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, "%-50s %6d %12s %12s\n", kind, s.faults[kind], quantile(s.recovery[kind], 0.5), quantile(s.recovery[kind], 1))
	}
	fmt.Fprintf(&b, "%d events published; kills: %d of projectors, %d of readers, %d of commands, %d of NATS, %d of PostgreSQL\n",
		h.load.published.Load(), h.projectors[0].Kills()+h.projectors[1].Kills(), h.readers[0].Kills()+h.readers[1].Kills(), h.operator.Kills(),
		h.nats.Kills(), h.postgresStops)
	for _, line := range slices.Concat(s.totals, s.checks) {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "took %s\n", round(time.Since(s.start)))
	h.tb.Log(b.String())
}

func quantile(list []time.Duration, q float64) string {
	if len(list) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(list))
	return round(sorted[int(q*float64(len(sorted)-1))]).String()
}
