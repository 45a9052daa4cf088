package readapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events/eventstest"
)

func newTestMemory(t *testing.T, capacity, largest int64) *memory {
	t.Helper()
	m, err := newMemory(capacity, largest, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func reserveBytes(t *testing.T, m *memory, id uuid.UUID, bytes int64) *reservation {
	t.Helper()
	r, err := m.reserve(t.Context(), id, bytes, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expectRefusal expects that a request for a byte which can't wait is refused.
func expectNoMemory(t *testing.T, m *memory, id uuid.UUID, want error) {
	t.Helper()
	if _, err := m.reserve(t.Context(), id, 1, time.Now()); !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func expectNoneHeld(t *testing.T, m *memory) {
	t.Helper()
	if held := m.held.Load(); held != 0 || len(m.lineages) != 0 {
		t.Errorf("held = %d, lineages = %d, want none", held, len(m.lineages))
	}
}

// When a lineage's share is used up, 128 of its requests wait. Another lineage does not notice.
func TestMemory_Queue(t *testing.T) {
	t.Parallel()
	m := newTestMemory(t, 32, 1)
	hostile, other := uuid.New(), uuid.New()
	var held []*reservation
	for range 4 {
		held = append(held, reserveBytes(t, m, hostile, 1))
	}
	waiting := make(chan *reservation, lineageQueue)
	for range lineageQueue {
		go func() {
			r, _ := m.reserve(t.Context(), hostile, 1, time.Now().Add(time.Hour))
			waiting <- r
		}()
	}
	eventstest.Eventually(t, "requests wait", func() bool { return m.waiting() == lineageQueue })
	if _, err := m.reserve(t.Context(), hostile, 1, time.Now().Add(time.Hour)); !errors.Is(err, errLineageMemory) {
		t.Errorf("error = %v, want %v", err, errLineageMemory)
	}
	reserveBytes(t, m, other, 1).release()
	for _, r := range held {
		r.release()
	}
	for range lineageQueue {
		r := <-waiting
		if r == nil {
			t.Fatal("a request that waited was refused")
		}
		r.release()
	}
	expectNoneHeld(t, m)
}

// A lineage has an eighth of the bytes, and one reservation of the largest size in any case. A small reservation is
// a sixteenth of the share.
func TestMemory_Share(t *testing.T) {
	t.Parallel()
	for capacity, share := range map[int64]int64{800: 100, 100: 50} {
		m := newTestMemory(t, capacity, 50)
		slow, other := uuid.New(), uuid.New()
		first := reserveBytes(t, m, slow, share)
		expectNoMemory(t, m, slow, errLineageMemory)
		reserveBytes(t, m, other, 50).release()
		first.shrink(share - share/atOnce)
		reserveBytes(t, m, slow, 1).release()
		first.release()
		expectNoneHeld(t, m)
	}
}

// Memory that a response does not take is for others at once. A body above its reservation changes nothing.
func TestMemory_Bytes(t *testing.T) {
	t.Parallel()
	m := newTestMemory(t, 100, 50)
	first, second := reserveBytes(t, m, uuid.New(), 50), reserveBytes(t, m, uuid.New(), 50)
	expectNoMemory(t, m, uuid.New(), errBodyMemory)
	first.shrink(10)
	reserveBytes(t, m, uuid.New(), 40).release()
	second.shrink(95)
	second.release()
	reserveBytes(t, m, uuid.New(), 50).release()
	first.release()
	expectNoneHeld(t, m)
}

// A request that ends while it waits, and one that waits too long, take nothing.
func TestMemory_EndOfTheWait(t *testing.T) {
	t.Parallel()
	m := newTestMemory(t, 100, 50)
	id := uuid.New()
	first, second := reserveBytes(t, m, uuid.New(), 50), reserveBytes(t, m, uuid.New(), 50)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := m.reserve(ctx, id, 1, time.Now().Add(time.Hour))
		ended <- err
	}()
	eventstest.Eventually(t, "a request waits", func() bool { return m.all.waiting.Load() == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	expectNoMemory(t, m, id, errBodyMemory)
	first.release()
	second.release()
	expectNoneHeld(t, m)
}

func TestNewMemory_TooSmall(t *testing.T) {
	t.Parallel()
	if _, err := newMemory(49, 50, prometheus.NewRegistry()); err == nil {
		t.Error("error = nil, want one for a capacity below the largest reservation")
	}
}
