package semaphore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"callboard/events/eventstest"
	"callboard/readapi/semaphore"
)

// acquire takes units in a goroutine and returns a channel that has the result.
func acquire(ctx context.Context, s *semaphore.Semaphore, units int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Acquire(ctx, units) }()
	return done
}

func waitFor(t *testing.T, s *semaphore.Semaphore, waiting int) {
	t.Helper()
	eventstest.Eventually(t, "requests wait", func() bool { return s.Waiting() == waiting })
}

func take(t *testing.T, s *semaphore.Semaphore, units int64) {
	t.Helper()
	if err := s.Acquire(t.Context(), units); err != nil {
		t.Fatal(err)
	}
}

// A small request does not overtake a large one. When the large one leaves, it is served.
func TestSemaphore_Order(t *testing.T) {
	t.Parallel()
	s := semaphore.New(10, 4)
	take(t, s, 8)
	ctx, leave := context.WithCancel(t.Context())
	large := acquire(ctx, s, 5)
	waitFor(t, s, 1)
	small := acquire(t.Context(), s, 1)
	waitFor(t, s, 2)
	leave()
	if err := <-large; !errors.Is(err, context.Canceled) {
		t.Errorf("error of the request that left = %v, want %v", err, context.Canceled)
	}
	if err := <-small; err != nil || s.Held() != 9 {
		t.Errorf("error = %v, held = %d, want 9", err, s.Held())
	}
	second := acquire(t.Context(), s, 2)
	waitFor(t, s, 1)
	third := acquire(t.Context(), s, 10)
	waitFor(t, s, 2)
	s.Change(-9)
	if err := <-second; err != nil || s.Waiting() != 1 {
		t.Errorf("error = %v, waiting = %d, want 1", err, s.Waiting())
	}
	s.Change(-2)
	if err := <-third; err != nil || s.Held() != 10 {
		t.Errorf("error = %v, held = %d, want 10", err, s.Held())
	}
}

func TestSemaphore_QueueFull(t *testing.T) {
	t.Parallel()
	s := semaphore.New(1, 1)
	take(t, s, 1)
	waits := acquire(t.Context(), s, 1)
	waitFor(t, s, 1)
	if err := s.Acquire(t.Context(), 1); !errors.Is(err, semaphore.ErrQueueFull) {
		t.Errorf("error = %v, want %v", err, semaphore.ErrQueueFull)
	}
	s.Change(-1)
	if err := <-waits; err != nil {
		t.Error(err)
	}
}

// What is added without waiting keeps others waiting until it is given back.
func TestSemaphore_BeyondCapacity(t *testing.T) {
	t.Parallel()
	s := semaphore.New(2, 1)
	take(t, s, 1)
	s.Change(5)
	waits := acquire(t.Context(), s, 1)
	waitFor(t, s, 1)
	s.Change(-4)
	if s.Waiting() != 1 || s.Held() != 2 {
		t.Errorf("waiting = %d, held = %d, want 1 and 2", s.Waiting(), s.Held())
	}
	s.Change(-1)
	if err := <-waits; err != nil {
		t.Error(err)
	}
}

// Requests that leave while they are served take nothing, or can give back what they took.
func TestSemaphore_Concurrently(t *testing.T) {
	t.Parallel()
	s := semaphore.New(10, 1000)
	var most atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				go cancel()
			}
			defer cancel()
			units := int64(i % 11)
			if s.Acquire(ctx, units) != nil {
				return
			}
			for held := s.Held(); ; {
				if before := most.Load(); before >= held || most.CompareAndSwap(before, held) {
					break
				}
			}
			s.Change(-units)
		})
	}
	all.Wait()
	if most.Load() > 10 || s.Held() != 0 || s.Waiting() != 0 {
		t.Errorf("most held = %d, held = %d, waiting = %d, want 10 at most, 0 and 0", most.Load(), s.Held(), s.Waiting())
	}
}
