package store_test

import (
	"flag"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// BenchmarkFoldedRows is how fast a folded company is encoded in the order of the keys.
func BenchmarkFoldedRows(b *testing.B) {
	state := foldedCompany(10, *filled)
	c := readCatalog(b, connect(b, schematest.New(b), "projection"), "projection")
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		rows += countRows(b, foldedRows(state, c))
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkStoredRows is how fast stored rows are read in the order of the keys.
func BenchmarkStoredRows(b *testing.B) {
	conn := connect(b, schematest.New(b), "projection")
	copyState(b, conn, foldedCompany(10, *filled))
	c := readCatalog(b, conn, "projection")
	err := pgx.BeginTxFunc(b.Context(), conn, store.SnapshotOptions(), func(pgx.Tx) error {
		rows := 0
		for b.Loop() {
			rows += countRows(b, storedRows(conn, c))
		}
		b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func countRows(t failer, rows iter.Seq2[store.Row, error]) (n int) {
	t.Helper()
	for _, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
