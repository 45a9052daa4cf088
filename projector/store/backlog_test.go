package store_test

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/projector"
	"callboard/projector/store"
)

//nolint:gochecknoglobals // flags are
var backlog = flag.Int("backlog", 200_000, "events in BenchmarkBacklog's stream")

// BenchmarkBacklog is how fast a projector works off a backlog, from its start to the stream's end, beside the bare inserts of
// the rows that result.
func BenchmarkBacklog(b *testing.B) {
	for range b.N {
		b.StopTimer()
		server := eventstest.NewServer(b)
		js := eventstest.JetStream(b, server.URL())
		stream := eventstest.CreateStream(b, js, events.DefaultPartitions)
		publish(b, js, *backlog)
		_, _, pool := openStore(b)
		p, err := projector.New(projector.Config{
			JetStream: js, Stream: events.StreamName, Database: pool, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		b.StartTimer()
		began := time.Now()
		go func() { done <- p.Run(ctx) }()
		for !caughtUp(b, stream, func(last uint64) (n int) {
			if err := pool.QueryRow(b.Context(), "select count(*) from position where sequence >= $1", int64(last)).Scan(&n); err != nil {
				b.Fatal(err)
			}
			return n
		}) {
			pause := time.NewTimer(20 * time.Millisecond)
			<-pause.C
		}
		took := time.Since(began)
		b.StopTimer()
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		rows, bare, err := store.MeasureInserts(b.Context(), pool, 2000)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(*backlog)/took.Seconds(), "events/s")
		b.ReportMetric(float64(rows), "rows")
		b.ReportMetric(float64(rows)/bare.Seconds(), "bare-rows/s")
		b.ReportMetric(0, "ns/op")
	}
}

func caughtUp(b *testing.B, stream jetstream.Stream, standing func(last uint64) int) bool {
	b.Helper()
	info, err := stream.Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return standing(info.State.LastSeq) == events.DefaultPartitions
}

// publish fills the stream with n events of a simulated company.
func publish(b *testing.B, js jetstream.JetStream, n int) {
	b.Helper()
	company := sample.New(sample.Config{Seed: 1, Systems: 40, Calls: n})
	list := make([]events.Event, 0, n)
	for e := range company.Events() {
		if len(list) == n {
			break
		}
		list = append(list, e)
	}
	publisher := events.NewPublisher(js, "benchmark")
	for part := range slices.Chunk(list, 5000) {
		if err := publisher.Publish(b.Context(), part...); err != nil {
			b.Fatal(err)
		}
	}
}
