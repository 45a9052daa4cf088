package store_test

import (
	"flag"
	"testing"
	"time"

	"callboard/projector/store"
	"callboard/schema/schematest"
)

//nolint:gochecknoglobals // flags are
var filled = flag.Int("filled", 40_000, "calls in BenchmarkCopyState's and BenchmarkFoldedRows's state")

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
