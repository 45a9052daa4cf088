package memory

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events/eventstest"
)

func newBudget(t *testing.T, capacity, largest int64) *Pool {
	t.Helper()
	b, err := New(Config{Capacity: capacity, Largest: largest, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func reserve(t *testing.T, b *Pool, id uuid.UUID, bytes int64) *Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), id, bytes, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expectRefusal expects that a request for a byte which can't wait is refused.
func expectRefusal(t *testing.T, b *Pool, id uuid.UUID, want error) {
	t.Helper()
	if _, err := b.Reserve(t.Context(), id, 1, time.Now()); !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func expectEmpty(t *testing.T, b *Pool) {
	t.Helper()
	if held := b.bytes.Held(); held != 0 || len(b.lineages) != 0 {
		t.Errorf("held = %d, lineages = %d, want none", held, len(b.lineages))
	}
}

// When a lineage's share is used up, 128 of its requests wait. Another lineage does not notice.
func TestReserve_Queue(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 32, 1)
	hostile, other := uuid.New(), uuid.New()
	var held []*Reservation
	for range 4 {
		held = append(held, reserve(t, b, hostile, 1))
	}
	waiting := make(chan *Reservation, lineageQueue)
	for range lineageQueue {
		go func() {
			r, _ := b.Reserve(t.Context(), hostile, 1, time.Now().Add(time.Hour))
			waiting <- r
		}()
	}
	eventstest.Eventually(t, "requests wait", func() bool { return b.waiting() == lineageQueue })
	if _, err := b.Reserve(t.Context(), hostile, 1, time.Now().Add(time.Hour)); !errors.Is(err, ErrLineage) {
		t.Errorf("error = %v, want %v", err, ErrLineage)
	}
	reserve(t, b, other, 1).Release()
	for _, r := range held {
		r.Release()
	}
	for range lineageQueue {
		r := <-waiting
		if r == nil {
			t.Fatal("a request that waited was refused")
		}
		r.Release()
	}
	expectEmpty(t, b)
}

// A lineage has an eighth of the bytes, and one reservation of the largest size in any case. A small reservation is
// a sixteenth of the share.
func TestReserve_Share(t *testing.T) {
	t.Parallel()
	for capacity, share := range map[int64]int64{800: 100, 100: 50} {
		b := newBudget(t, capacity, 50)
		slow, other := uuid.New(), uuid.New()
		first := reserve(t, b, slow, share)
		expectRefusal(t, b, slow, ErrLineage)
		reserve(t, b, other, 50).Release()
		first.Resize(share - share/atOnce)
		reserve(t, b, slow, 1).Release()
		first.Release()
		expectEmpty(t, b)
	}
}

// What a response takes beyond its reservation keeps others waiting until it is released.
func TestReserve_Bytes(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 100, 50)
	first, second := reserve(t, b, uuid.New(), 50), reserve(t, b, uuid.New(), 50)
	expectRefusal(t, b, uuid.New(), ErrBytes)
	first.Resize(10)
	reserve(t, b, uuid.New(), 40).Release()
	second.Resize(95)
	expectRefusal(t, b, uuid.New(), ErrBytes)
	second.Release()
	reserve(t, b, uuid.New(), 50).Release()
	first.Release()
	expectEmpty(t, b)
}

// A request that ends while it waits, and one that waits too long, take nothing.
func TestReserve_EndOfTheWait(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 100, 50)
	id := uuid.New()
	first, second := reserve(t, b, uuid.New(), 50), reserve(t, b, uuid.New(), 50)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := b.Reserve(ctx, id, 1, time.Now().Add(time.Hour))
		ended <- err
	}()
	eventstest.Eventually(t, "a request waits", func() bool { return b.bytes.Waiting() == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	expectRefusal(t, b, id, ErrBytes)
	first.Release()
	second.Release()
	expectEmpty(t, b)
}

func TestNew_TooSmall(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{Capacity: 49, Largest: 50, Metrics: prometheus.NewRegistry()}); err == nil {
		t.Error("error = nil, want one for a capacity below the largest reservation")
	}
}
