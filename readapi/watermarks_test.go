package readapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/readapi/query"
	"callboard/schema/schematest"
)

// countWatermarkReads counts the statements that read watermarks.
func countWatermarkReads(tb testing.TB) (counter *atomic.Int64, option func(*Config)) {
	tb.Helper()
	counter = new(atomic.Int64)
	return counter, withTracer(tb, &schematest.Tracer{Statement: func(sql string, _ []any) {
		if strings.Contains(sql, "projection.position") {
			counter.Add(1)
		}
	}})
}

func (m *watermarks) isRunning() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running
}

// 200 pages that wait are one statement per interval. Each is answered when its own system's watermark has reached its window's end, or its
// system is gone. When nobody waits, nothing is read.
func TestWatermarks(t *testing.T) {
	t.Parallel()
	counter, option := countWatermarkReads(t)
	h := newHarness(t, option)
	m := newWatermarks(query.New(h.config.Projection))
	systems := []uuid.UUID{h.system("one"), h.system("two"), uuid.New()}
	h.setWatermark(at(windowFrom))
	began := time.Now()
	var waiting sync.WaitGroup
	errs := make(chan error, 200)
	for i := range 200 {
		waiting.Go(func() { errs <- m.await(t.Context(), systems[i%len(systems)], at(windowTo)) })
	}
	eventstest.Eventually(t, "20 statements", func() bool { return counter.Load() >= 20 })
	statements := counter.Load()
	if most := int64(time.Since(began)/watermarkInterval) + 1; statements > most {
		t.Errorf("statements = %d, want %d at most", statements, most)
	}
	h.setWatermark(at(windowTo))
	waiting.Wait()
	close(errs)
	gone := 0
	for err := range errs {
		if errors.Is(err, query.ErrNotFound) {
			gone++
		} else if err != nil {
			t.Errorf("error = %v, want none", err)
		}
	}
	if gone != 66 {
		t.Errorf("waits for a system that is gone = %d, want 66", gone)
	}
	eventstest.Eventually(t, "the end of reading", func() bool { return !m.isRunning() })
	began, statements = time.Now(), counter.Load()
	err := m.await(t.Context(), systems[0], at(windowTo))
	most := 1 + int64(time.Since(began)/watermarkTimeout) // one that takes too long is repeated
	if got := counter.Load() - statements; err != nil || got < 1 || got > most {
		t.Errorf("error = %v, statements = %d, want 1 to %d", err, got, most)
	}
}

// A read that takes too long does not end the wait.
func TestWatermarks_SlowRead(t *testing.T) {
	t.Parallel()
	counter, option := countWatermarkReads(t)
	h := newHarness(t, option)
	m := newWatermarks(query.New(h.config.Projection))
	system := h.system("one")
	tx, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // does nothing after the commit
	schematest.Exec(t, tx, "update projection.position set watermark = $1", at(windowTo))
	schematest.Exec(t, tx, "lock projection.position") // reads wait
	ended := make(chan error, 1)
	go func() { ended <- m.await(t.Context(), system, at(windowTo)) }()
	eventstest.Eventually(t, "a second read", func() bool { return counter.Load() >= 2 || len(ended) > 0 })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("error = %v, want none", err)
	}
}

// A read that meets other numbers of partitions again and again ends the waits for the phone systems that it has found, and no others.
func TestWatermarks_PartitionsChange(t *testing.T) {
	t.Parallel()
	m := newWatermarks(nil)
	found, other := uuid.New(), uuid.New()
	read := map[uuid.UUID]time.Time{found: at(windowTo)}
	for system, ended := range map[uuid.UUID]int{found: 1, other: 0} {
		w := &watermarkWaiter{system: system, until: at(windowTo), done: make(chan error, 1)}
		m.answer(w, read, fmt.Errorf("watermarks: %w", access.ErrSwitching))
		if got := len(w.done); got != ended {
			t.Errorf("phone system found: %t: ended waits = %d, want %d", system == found, got, ended)
		}
	}
}

// A wait that its request ends is forgotten.
func TestWatermarks_RequestEnds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	m := newWatermarks(query.New(h.config.Primary))
	system := h.system("one")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.await(ctx, system, at("2200-01-01T00:00:00Z")) }()
	eventstest.Eventually(t, "a wait", m.isRunning)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	eventstest.Eventually(t, "the end of reading", func() bool { return !m.isRunning() })
}
