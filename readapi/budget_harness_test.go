package readapi

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	trail "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/audit"
	"callboard/readapi/limit"
)

// plenty is a budget that no test uses up, save those that are about budgets.
const plenty = 1_000_000

// messages is a NATS with the audit's stream.
func messages(tb testing.TB) jetstream.JetStream {
	tb.Helper()
	js := eventstest.JetStream(tb, eventstest.NewServer(tb).URL())
	if _, err := js.CreateStream(tb.Context(), trail.StreamConfig(1)); err != nil {
		tb.Fatal(err)
	}
	return js
}

// newLimiter is a limiter that runs as long as the test.
func newLimiter(tb testing.TB, js jetstream.JetStream, perMinute int) *limit.Limiter {
	tb.Helper()
	l, err := limit.New(limit.Config{
		JetStream: js, Report: perMinute, Standard: perMinute, Premium: perMinute, DecisionTimeout: time.Minute, Log: zerolog.Nop(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	hold(tb, l.Run)
	return l
}

// newAuditQueue is an audit queue that runs as long as the test.
func newAuditQueue(tb testing.TB, js jetstream.JetStream, capacity int) *audit.Queue {
	tb.Helper()
	j, err := audit.NewQueue(audit.Config{JetStream: js, Capacity: capacity, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry()})
	if err != nil {
		tb.Fatal(err)
	}
	hold(tb, j.Run)
	return j
}

func hold(tb testing.TB, run func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
}
