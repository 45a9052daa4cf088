package fault_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// figures are what a run was like.
type figures struct {
	began     time.Time
	faults    map[string]int
	recovered map[string][]time.Duration // from the end of a fault until everybody had caught up
	verdicts  []string
	totals    []string
}

func newFigures() *figures {
	return &figures{began: time.Now(), faults: map[string]int{}, recovered: map[string][]time.Duration{}}
}

func (f *figures) count(kind string, took ...time.Duration) {
	f.faults[kind]++
	f.recovered[kind] = append(f.recovered[kind], took...)
}

func (f *figures) total(format string, values ...any) {
	f.totals = append(f.totals, fmt.Sprintf(format, values...))
}

// report shows the figures.
func (s *stage) report() {
	s.tb.Helper()
	f := s.figures
	var b strings.Builder
	b.WriteString("\n")
	if len(f.faults) > 0 {
		fmt.Fprintf(&b, "%-46s %6s %9s %9s\n", "fault", "times", "p50", "max")
	}
	for _, kind := range slices.Sorted(maps.Keys(f.faults)) {
		fmt.Fprintf(&b, "%-46s %6d %9s %9s\n", kind, f.faults[kind], quantile(f.recovered[kind], 0.5), quantile(f.recovered[kind], 1))
	}
	fmt.Fprintf(&b, "%d events published; survived: %d kills of projectors, %d of readers, %d of rebuilds, %d of NATS, %d stops of PostgreSQL\n",
		s.feed.published.Load(), s.projectors[0].kills+s.projectors[1].kills, s.readers[0].kills+s.readers[1].kills, s.operator.kills, s.nats.kills, s.outages)
	for _, line := range slices.Concat(f.totals, f.verdicts) {
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "%s in all\n", brief(time.Since(f.began)))
	s.tb.Log(b.String())
}

func quantile(list []time.Duration, q float64) string {
	if len(list) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(list))
	return brief(sorted[int(q*float64(len(sorted)-1))]).String()
}
