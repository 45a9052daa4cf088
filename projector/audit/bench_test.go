package audit_test

import (
	"context"
	"errors"
	"flag"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/audit"
	filer "callboard/projector/audit"
	journal "callboard/readapi/audit"
)

//nolint:gochecknoglobals // flags are
var records = flag.Int("records", 200_000, "entries in BenchmarkAudit")

// BenchmarkAudit is how many entries a second go from Record to their rows, with one journal and one filer, beside the bare inserts
// of the same rows.
func BenchmarkAudit(b *testing.B) {
	for range b.N {
		b.StopTimer()
		s := newStage(b)
		list := benchmarkEntries(s.noon)
		j, err := journal.NewQueue(journal.Config{JetStream: s.js, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
		if err != nil {
			b.Fatal(err)
		}
		stop := s.start()
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := j.Run(ctx); err != nil {
				b.Error(err)
			}
		})
		b.StartTimer()
		began := time.Now()
		for _, e := range list {
			if errors.Is(j.Reserve(), journal.ErrFull) {
				s.await("a place", func() bool { return j.Reserve() == nil })
			}
			j.Record(e)
		}
		handed := time.Since(began)
		cancel()
		running.Wait()
		published := time.Since(began)
		s.drained()
		took := time.Since(began)
		b.StopTimer()
		stop()
		if n := s.filed(); n != len(list) {
			b.Fatalf("%d entries filed", n)
		}
		s.exec("truncate access.audit")
		bare, err := filer.BareInserts(b.Context(), s.pool, list)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("all recorded after %s, on the stream after %s", handed, published)
		b.ReportMetric(float64(len(list))/took.Seconds(), "records/s")
		b.ReportMetric(float64(len(list))/bare.Seconds(), "bare-rows/s")
		b.ReportMetric(0, "ns/op")
	}
}

// benchmarkEntries are those of a few hundred keys, of one day.
func benchmarkEntries(from time.Time) []audit.Entry {
	keys := make([]uuid.UUID, 300)
	for i := range keys {
		keys[i] = uuid.New()
	}
	list := make([]audit.Entry, *records)
	for i := range list {
		list[i] = entry(keys[i*7%len(keys)], from.Add(time.Duration(i)*time.Millisecond/10))
		list[i].ID = uuid.Must(uuid.NewV7())
		list[i].System = uuid.NullUUID{UUID: keys[i%len(keys)], Valid: true}
		list[i].Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		list[i].RequestID = list[i].ID.String()
	}
	return list
}
