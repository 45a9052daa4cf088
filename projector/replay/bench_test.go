package replay_test

import (
	"flag"
	"math"
	"runtime"
	"testing"
	"time"

	"callboard/projector/replay"
	"callboard/projector/store"
)

//nolint:gochecknoglobals // flags are
var calls = flag.Int("calls", 20_000, "calls in the history of a benchmark")

// BenchmarkReplay is the time of the pass and of the fold with encoded rows, of a phone system in slots and of parts in memory, beside a
// fold in memory without a spool.
func BenchmarkReplay(b *testing.B) {
	c := readCatalog(b)
	h := companyHistory(b, 1, *calls, 1)
	var bytes int64
	for _, m := range h.messages {
		bytes += int64(len(m.Data))
	}
	report := func(b *testing.B, name string, took time.Duration) {
		b.Helper()
		b.ReportMetric(float64(len(h.messages))/took.Seconds(), name+"-messages/s")
		b.ReportMetric(float64(bytes>>20)/took.Seconds(), name+"-MB/s")
	}
	b.Run("memory", func(b *testing.B) {
		for range b.N {
			began := time.Now()
			changes := h.folded(0)
			discard(b, store.EncodedRows(changes.State, c, store.ReadingOrder))
			report(b, "fold", time.Since(began))
			b.ReportMetric(float64(heap()>>20), "heap-MB")
			runtime.KeepAlive(changes)
		}
	})
	for name, slots := range map[string]int{"small": 1, "slots=8": 8} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				plan := h.plan(slots)
				began := time.Now()
				s := openSpool(b, b.TempDir(), plan)
				if err := s.Append(h.messages); err != nil {
					b.Fatal(err)
				}
				if err := s.Checkpoint(); err != nil {
					b.Fatal(err)
				}
				report(b, "pass", time.Since(began))
				began = time.Now()
				f := s.Fold(plan.Parts[0].PartID, replay.Folding{Catalog: c, Memory: math.MaxInt64})
				if err := f.UpTo(b.Context(), h.last(), store.Decisions{}); err != nil {
					b.Fatal(err)
				}
				discard(b, f.Rows())
				report(b, "fold", time.Since(began))
				b.ReportMetric(float64(heap()>>20), "heap-MB")
				runtime.KeepAlive(f)
			}
		})
	}
}

func discard(b *testing.B, rows store.TableRows) {
	b.Helper()
	for _, table := range store.Tables() {
		for _, err := range rows(table) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// heap returns the bytes that are in use, the history's included.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
