package audit_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/audit"
	"callboard/events/eventstest"
	journal "callboard/readapi/audit"
)

// stage is a server and a journal for one test.
type stage struct {
	*testing.T
	server   *eventstest.Server
	js       jetstream.JetStream
	registry *prometheus.Registry
	journal  *journal.Queue
	log      lines
}

func newStage(t *testing.T, capacity int, options ...eventstest.Option) *stage {
	t.Helper()
	s := &stage{T: t, server: eventstest.NewServer(t, options...), registry: prometheus.NewRegistry()}
	s.js = eventstest.JetStream(t, s.server.URL())
	var err error
	s.journal, err = journal.NewQueue(journal.Config{
		JetStream: s.js, Capacity: capacity, Log: zerolog.New(&s.log), Metrics: s.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) createStream() {
	s.Helper()
	if _, err := s.js.CreateStream(s.Context(), audit.StreamConfig(1)); err != nil {
		s.Fatal(err)
	}
}

// start runs the journal; stop asks it to end and returns its error.
func (s *stage) start() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.journal.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	s.Cleanup(func() { _ = stop() }) // a test that cares has looked
	return stop
}

func (s *stage) reserve() {
	s.Helper()
	if err := s.journal.Reserve(); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) record(e audit.Entry) {
	s.Helper()
	s.reserve()
	s.journal.Record(e)
}

// messages are the stream's, decoded, in order.
func (s *stage) messages() [][]audit.Entry {
	s.Helper()
	stream, err := s.js.Stream(s.Context(), audit.StreamName)
	if err != nil {
		s.Fatal(err)
	}
	var list [][]audit.Entry
	for sequence := range stream.CachedInfo().State.LastSeq {
		m, err := stream.GetMsg(s.Context(), sequence+1)
		if err != nil {
			s.Fatal(err)
		}
		entries, err := audit.Decode(m.Data)
		if err != nil || len(entries) == 0 || len(entries) > audit.MaxEntries {
			s.Fatalf("message %d: %d entries, %v", sequence+1, len(entries), err)
		}
		if id := m.Header.Get(jetstream.MsgIDHeader); id != entries[0].ID.String() {
			s.Errorf("message %d has the id %q", sequence+1, id)
		}
		list = append(list, entries)
	}
	return list
}

// entries are those of all messages.
func (s *stage) entries() []audit.Entry {
	s.Helper()
	var all []audit.Entry
	for _, message := range s.messages() {
		all = append(all, message...)
	}
	return all
}

// metric is the value of one of the journal's metrics.
func (s *stage) metric(name string) float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "callboard_readapi_audit_"+name {
			m := family.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	s.Fatalf("no metric %s", name)
	return 0
}

func (s *stage) await(what string, condition func() bool) {
	s.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			s.Fatalf("not within a minute: %s", what)
		}
		<-tick.C
	}
}

func entry() audit.Entry {
	return audit.Entry{KeyID: uuid.New(), Operation: "listCallLogs", Status: 200, RequestID: uuid.NewString()}
}

// lines keeps what a journal logs.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}
