package store_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/sample"
)

//nolint:gochecknoglobals // flags are
var filled = flag.Int("filled", 40_000, "calls in the state or history of a benchmark")

// BenchmarkStore_Batches is what a company's history costs this process in batches of 2,000 events, without their
// decoding: loads, fold and writes. The server's time isn't in it.
func BenchmarkStore_Batches(b *testing.B) {
	for _, systems := range []int{1, 64} {
		b.Run(fmt.Sprintf("systems=%d", systems), func(b *testing.B) {
			company := sample.New(sample.Config{Seed: 1, Systems: systems, Calls: *filled})
			history := timed(company, events.Time(1_700_000_000_000))
			var used time.Duration
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				s, _, _ := openStore(b)
				position := claim(b, s)
				runtime.GC()
				before := cpuTime(b)
				b.StartTimer()
				for batch := range slices.Chunk(history, 2000) {
					position = applyBatch(b, s, position, batch)
				}
				used += cpuTime(b) - before
			}
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*len(history)), "cpu-ns/event")
			b.ReportMetric(float64(len(history)), "events")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuTime returns the time that this process has used, its garbage collector included.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
