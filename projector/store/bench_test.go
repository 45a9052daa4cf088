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
	"callboard/projector/store"
	"callboard/schema/schematest"
)

//nolint:gochecknoglobals // flags are
var filled = flag.Int("filled", 40_000, "calls in the state or history of a benchmark")

// BenchmarkStore_Batches is what a company's history costs this process in batches of 2,000 events, without their decoding: loads, fold
// and writes. The server's time isn't in it.
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

// BenchmarkCopyState is how fast a folded company is written, beside a bare copy of the same bytes.
func BenchmarkCopyState(b *testing.B) {
	state := foldedCompany(10, *filled)
	for range b.N {
		conn := connect(b, schematest.New(b), "projection")
		began := time.Now()
		rows := copyState(b, conn, state)
		took := time.Since(began)

		size, bare, err := store.MeasureCopy(b.Context(), connect(b, schematest.New(b), "projection"), state)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		b.ReportMetric(float64(rows)/bare.Seconds(), "bare-rows/s")
		b.ReportMetric(float64(size)/took.Seconds()/1e6, "MB/s")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkFoldedRows is how fast a folded company is encoded and digested.
func BenchmarkFoldedRows(b *testing.B) {
	state := foldedCompany(10, *filled)
	s := readCatalog(b, connect(b, schematest.New(b), "projection"), "projection")
	var sum store.Digest
	b.ReportAllocs()
	for b.Loop() {
		size := 0
		for row, err := range store.FoldedRows(state, s, store.Tables()) {
			if err != nil {
				b.Fatal(err)
			}
			sum.Add(row)
			size += row.Size()
		}
		b.SetBytes(int64(size))
	}
	b.ReportMetric(float64(sum.Rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkStoredRows is how fast stored rows are read and digested.
func BenchmarkStoredRows(b *testing.B) {
	conn := connect(b, schematest.New(b), "projection")
	copyState(b, conn, foldedCompany(10, *filled))
	s := readCatalog(b, conn, "projection")
	systems, err := store.PhoneSystemIDs(b.Context(), conn, s)
	if err != nil {
		b.Fatal(err)
	}
	var sum store.Digest
	for b.Loop() {
		size := 0
		for row, err := range store.StoredRows(b.Context(), conn, s, store.Tables(), systems) {
			if err != nil {
				b.Fatal(err)
			}
			sum.Add(row)
			size += row.Size()
		}
		b.SetBytes(int64(size))
	}
	b.ReportMetric(float64(sum.Rows)/b.Elapsed().Seconds(), "rows/s")
}
