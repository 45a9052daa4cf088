package readapi

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callboard/events/eventstest"
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

// 200 pages that wait are one statement per interval. Each wait ends when its partition's watermark has reached its
// window's end, or its request has ended. When no page waits, nothing is read.
func TestWatermarks(t *testing.T) {
	t.Parallel()
	counter, option := countWatermarkReads(t)
	h := newHarness(t, option)
	m := newWatermarks(query.New(h.config.Projection))
	h.system("one") // in partition 0
	h.setWatermark(at(windowFrom))
	began := time.Now()
	var waiting, ending sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 200 {
		waiting.Go(func() { m.await(t.Context(), 0, at(windowTo)) })
	}
	ending.Go(func() { m.await(ctx, 0, at("2200-01-01T00:00:00Z")) })
	ending.Go(func() { m.await(ctx, 7, at(windowTo)) }) // there is no such partition
	eventstest.Eventually(t, "20 statements", func() bool { return counter.Load() >= 20 })
	statements := counter.Load()
	if most := int64(time.Since(began)/watermarkInterval) + 1; statements > most {
		t.Errorf("statements = %d, want %d at most", statements, most)
	}
	h.setWatermark(at(windowTo))
	waiting.Wait()
	if !m.isRunning() {
		t.Error("reading has ended, want it to go on for the other waits")
	}
	cancel()
	ending.Wait()
	eventstest.Eventually(t, "the end of reading", func() bool { return !m.isRunning() })
	statements = counter.Load()
	m.await(t.Context(), 0, at(windowTo))
	if counter.Load() == statements {
		t.Error("a wait after the end of reading has ended without a statement")
	}
}

// A read that takes too long does not end the wait.
func TestWatermarks_SlowRead(t *testing.T) {
	t.Parallel()
	counter, option := countWatermarkReads(t)
	h := newHarness(t, option)
	m := newWatermarks(query.New(h.config.Projection))
	h.system("one") // in partition 0
	tx, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // does nothing after the commit
	schematest.Exec(t, tx, "update projection.position set watermark = $1", at(windowTo))
	schematest.Exec(t, tx, "lock projection.position") // reads wait
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.await(t.Context(), 0, at(windowTo))
	}()
	eventstest.Eventually(t, "a second read", func() bool { return counter.Load() >= 2 })
	select {
	case <-ended:
		t.Error("the wait has ended before the watermark was read")
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
}
