package audit_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/audit"
	writer "callboard/projector/audit"
	"callboard/projector/projectortest"
	queue "callboard/readapi/audit"
)

func newWriter(natsURL, databaseURL string) (*writer.Writer, func(), error) {
	config, disconnect, err := connect(natsURL, databaseURL)
	if err != nil {
		return nil, nil, err
	}
	w, err := writer.New(config)
	return w, disconnect, err
}

// Two writers that are stopped and started at random moments store every entry once.
func TestWriter_StoppedAtRandom(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stopRecording := h.record()
	seed := rand.Uint64()
	began := time.Now()
	stop := h.start()
	h.eventually("a stored entry", func() bool { return h.storedCount() > 0 })
	stop()
	lifetime := time.Since(began)
	before := h.storedCount()
	for rounds := uint64(0); rounds == 0 || rounds < 6 && h.storedCount() == before; rounds++ {
		var running sync.WaitGroup
		for writer := range uint64(2) {
			random, longest := rand.New(rand.NewPCG(seed, 2*rounds+writer)), int64(lifetime)<<rounds // the machine may have become slower
			running.Go(func() {
				for range 8 {
					if err := h.runFor(time.Duration(random.Int64N(longest))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
	}
	stored := h.storedCount()
	recorded := stopRecording()
	t.Logf("seed %d: entries = %d, stored by the writers that were stopped = %d", seed, len(recorded), stored-before)
	if stored == before {
		t.Error("entries that the stopped writers stored = 0, want some")
	}
	h.start()
	h.waitUntilStored()
	h.requireStored(recorded)
}

func (h *harness) runFor(d time.Duration) error {
	w, disconnect, err := newWriter(h.Server.URL(), h.databaseURL())
	if err != nil {
		return err
	}
	defer disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return w.Run(ctx)
}

// record starts a reader's audit queue and clients that record entries in it. stop ends both and returns the recorded entries.
func (h *harness) record() (stop func() []audit.Entry) {
	h.Helper()
	q, err := queue.NewQueue(queue.Config{
		JetStream: h.JetStream, FlushTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	var clients sync.WaitGroup
	recorded := make([][]audit.Entry, 2)
	for i := range recorded {
		clients.Go(func() { recorded[i] = recordEntries(ctx, q) })
	}
	stop = sync.OnceValue(func() []audit.Entry {
		cancel()
		clients.Wait()
		if err := <-done; err != nil {
			h.Error(err)
		}
		return slices.Concat(recorded...)
	})
	h.Cleanup(func() { stop() })
	return stop
}

// recordEntries records a few entries every millisecond until ctx ends. After as many as a slow machine can store in time, it records a few
// every 50 ms, so that a writer always has something to store.
func recordEntries(ctx context.Context, q *queue.Queue) []audit.Entry {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var recorded []audit.Entry
	keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for {
		select {
		case <-ctx.Done():
			return recorded
		case <-tick.C:
		}
		for i := range 5 {
			e := newEntry(keys[i%len(keys)], time.Now())
			if q.Reserve(e.KeyID) != nil {
				continue // a refused request leaves no entry
			}
			q.Record(e.KeyID, e)
			recorded = append(recorded, e)
		}
		if len(recorded) >= 20_000 {
			tick.Reset(50 * time.Millisecond)
		}
	}
}

// requireStored compares the tables with the recorded entries.
func (h *harness) requireStored(recorded []audit.Entry) {
	h.Helper()
	newest := make(map[uuid.UUID]time.Time)
	want := make([]uuid.UUID, len(recorded))
	for i, e := range recorded {
		want[i] = e.ID
		if e.At.After(newest[e.KeyID]) {
			newest[e.KeyID] = e.At
		}
	}
	got := h.storedIDs()
	compare := func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
	slices.SortFunc(want, compare)
	slices.SortFunc(got, compare)
	if !slices.Equal(got, want) {
		h.Errorf("stored entries = %d, want the %d recorded ones", len(got), len(want))
	}
	for key, want := range newest {
		used := projectortest.Query[time.Time](h.Harness, "select at from access.key_use where key_id = $1", key)
		if len(used) != 1 || !used[0].Equal(want) {
			h.Errorf("key %s: last use = %v, want %v", key, used, want)
		}
	}
	if got := h.deadLetters(); got != 0 {
		h.Errorf("dead letters = %d, want 0", got)
	}
}
