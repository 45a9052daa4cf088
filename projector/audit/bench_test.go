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

	"callboard/events"
	writer "callboard/projector/audit"
	"callboard/readapi/auditqueue"
)

//nolint:gochecknoglobals // flags are
var records = flag.Int("records", 200_000, "entries in BenchmarkWriter")

// BenchmarkWriter measures how many entries a second get from a reader's queue to their rows, with one queue and
// one writer, beside plain inserts of the same rows.
func BenchmarkWriter(b *testing.B) {
	for range b.N {
		b.StopTimer()
		h := newHarness(b)
		list := benchmarkEntries(h.noon)
		q := auditqueue.NewQueue(auditqueue.Config{JetStream: h.JetStream, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
		stop := h.start()
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := q.Run(ctx); err != nil {
				b.Error(err)
			}
		})
		b.StartTimer()
		began := time.Now()
		for _, e := range list {
			if errors.Is(q.Reserve(e.KeyID), auditqueue.ErrFull) {
				h.eventually("a free slot", func() bool { return q.Reserve(e.KeyID) == nil })
			}
			q.Record(e.KeyID, e)
		}
		recorded := time.Since(began)
		cancel()
		running.Wait()
		published := time.Since(began)
		h.waitUntilStored()
		took := time.Since(began)
		b.StopTimer()
		stop()
		if got := h.storedCount(); got != int64(len(list)) {
			b.Fatalf("stored = %d, want %d", got, len(list))
		}
		h.Exec("truncate access.audit")
		plain, err := writer.PlainInserts(b.Context(), h.Pool, list)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("all recorded after %s, published after %s", recorded, published)
		b.ReportMetric(float64(len(list))/took.Seconds(), "records/s")
		b.ReportMetric(float64(len(list))/plain.Seconds(), "plain-rows/s")
		b.ReportMetric(0, "ns/op")
	}
}

// benchmarkEntries returns entries of 300 keys within one day.
func benchmarkEntries(from time.Time) []events.AuditEntry {
	keys := make([]uuid.UUID, 300)
	for i := range keys {
		keys[i] = uuid.New()
	}
	list := make([]events.AuditEntry, *records)
	for i := range list {
		list[i] = newEntry(keys[i*7%len(keys)], from.Add(time.Duration(i)*time.Millisecond/10))
		list[i].ID = uuid.Must(uuid.NewV7())
		list[i].System = uuid.NullUUID{UUID: keys[i%len(keys)], Valid: true}
		list[i].Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
		list[i].RequestID = list[i].ID.String()
	}
	return list
}
