package store_test

import (
	"flag"
	"testing"
	"time"

	"callboard/projector/store"
	"callboard/schema/schematest"
)

//nolint:gochecknoglobals // flags are
var filled = flag.Int("filled", 40_000, "calls in BenchmarkFill's and BenchmarkFolded's state")

// BenchmarkFill is how fast a folded company is written, beside a bare copy of the same bytes.
func BenchmarkFill(b *testing.B) {
	state := company(10, *filled)
	for range b.N {
		conn := connect(b, schematest.New(b), "projection")
		began := time.Now()
		rows := fill(b, conn, state)
		took := time.Since(began)

		size, bare, err := store.BareCopy(b.Context(), connect(b, schematest.New(b), "projection"), state)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
		b.ReportMetric(float64(rows)/bare.Seconds(), "bare-rows/s")
		b.ReportMetric(float64(size)/took.Seconds()/1e6, "MB/s")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkFolded is how fast a folded company is encoded and digested.
func BenchmarkFolded(b *testing.B) {
	state := company(10, *filled)
	s := shape(b, connect(b, schematest.New(b), "projection"), "projection")
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

// BenchmarkStored is how fast stored rows are read and digested.
func BenchmarkStored(b *testing.B) {
	conn := connect(b, schematest.New(b), "projection")
	fill(b, conn, company(10, *filled))
	s := shape(b, conn, "projection")
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
