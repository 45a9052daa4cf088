package auditqueue_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/auditqueue"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(8)
	eventstest.RunAndFindLeaks(m)
}

// harness has a NATS server and a queue.
type harness struct {
	*testing.T
	server   *eventstest.Server
	js       jetstream.JetStream
	registry *prometheus.Registry
	queue    *auditqueue.Queue
	log      eventstest.LogBuffer
}

func newHarness(t *testing.T, capacity int, options ...eventstest.Option) *harness {
	t.Helper()
	return newHarnessFlushing(t, time.Minute, capacity, options...) // far longer than a busy machine takes
}

// newHarnessFlushing is [newHarness] for tests of entries that are lost.
func newHarnessFlushing(t *testing.T, timeout time.Duration, capacity int, options ...eventstest.Option) *harness {
	t.Helper()
	h := &harness{T: t, server: eventstest.NewServer(t, options...), registry: prometheus.NewRegistry()}
	h.js = eventstest.JetStream(t, h.server.URL())
	h.queue = auditqueue.NewQueue(auditqueue.Config{
		JetStream: h.js, Capacity: capacity, FlushTimeout: timeout, Log: zerolog.New(&h.log), Metrics: h.registry,
	})
	return h
}

func (h *harness) createStream() {
	h.Helper()
	if _, err := h.js.CreateStream(h.Context(), events.AuditStreamConfig(1)); err != nil {
		h.Fatal(err)
	}
}

// start runs the queue; stop ends it and returns Run's error.
func (h *harness) start() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.queue.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	h.Cleanup(func() { _ = stop() }) // tests that expect an error call stop themselves
	return stop
}

func (h *harness) reserve() {
	h.Helper()
	if err := h.queue.Reserve(uuid.Nil); err != nil {
		h.Fatal(err)
	}
}

func (h *harness) record(e events.AuditEntry) {
	h.Helper()
	h.reserve()
	h.queue.Record(uuid.Nil, e)
}

// messages returns the entries of each message of the stream.
func (h *harness) messages() [][]events.AuditEntry {
	h.Helper()
	stream, err := h.js.Stream(h.Context(), events.AuditStream)
	if err != nil {
		h.Fatal(err)
	}
	var list [][]events.AuditEntry
	for i := range stream.CachedInfo().State.LastSeq {
		m, err := stream.GetMsg(h.Context(), i+1)
		if err != nil {
			h.Fatal(err)
		}
		entries, err := events.DecodeAudit(m.Data)
		if err != nil || len(entries) == 0 || len(entries) > events.MaxAuditEntries {
			h.Fatalf("message %d: entries = %d, error = %v, want 1 to %d", i+1, len(entries), err, events.MaxAuditEntries)
		}
		if got, want := m.Header.Get(jetstream.MsgIDHeader), entries[0].ID.String(); got != want {
			h.Errorf("message %d: id = %q, want that of its first entry, %s", i+1, got, want)
		}
		list = append(list, entries)
	}
	return list
}

// entries returns the entries of all messages.
func (h *harness) entries() []events.AuditEntry {
	h.Helper()
	var all []events.AuditEntry
	for _, message := range h.messages() {
		all = append(all, message...)
	}
	return all
}

// metric returns the value of one of the queue's metrics.
func (h *harness) metric(name string) float64 {
	h.Helper()
	return eventstest.Metric(h, h.registry, "callboard_readapi_audit_"+name)
}

func newEntry() events.AuditEntry {
	return events.AuditEntry{At: time.Now(), KeyID: uuid.New(), Operation: "listCallLogs", Status: 200, RequestID: uuid.NewString()}
}
