// Package semaphore bounds how much of something is in use at once, and how many requests wait for it.
package semaphore

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrQueueFull is returned to a request that finds the queue full.
var ErrQueueFull = errors.New("the queue is full")

// Semaphore grants units in the order of the requests: small requests do not overtake a large one that waits. It is safe for concurrent use.
type Semaphore struct {
	capacity int64
	queue    int

	mu      sync.Mutex
	held    int64
	waiting []*waiter
}

type waiter struct {
	units   int64
	granted chan struct{} // closed when the units are the waiter's
}

// New returns a semaphore with a number of units, at least 1, for which up to queue requests can wait.
func New(capacity int64, queue int) *Semaphore {
	return &Semaphore{capacity: capacity, queue: queue}
}

// Acquire takes units, not more than there are in all, and waits until they are free. Change gives them back. The error is [ErrQueueFull]
// or that of ctx, and then nothing is taken.
func (s *Semaphore) Acquire(ctx context.Context, units int64) error {
	w := &waiter{units: units, granted: make(chan struct{})}
	if err := s.enter(w); err != nil {
		return err
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	if s.leave(w) {
		return ctx.Err()
	}
	return nil
}

// enter makes a request wait, or grants its units.
func (s *Semaphore) enter(w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 && s.fits(w) {
		s.grant(w)
		return nil
	}
	if len(s.waiting) >= s.queue {
		return ErrQueueFull
	}
	s.waiting = append(s.waiting, w)
	return nil
}

// leave ends a wait. It returns false if the units are granted already.
func (s *Semaphore) leave(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting, w)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.serve() // those after it can fit
	return true
}

// Change adds units to those that are held, without waiting and even beyond all of them, or gives units back if the number is negative.
func (s *Semaphore) Change(units int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += units
	s.serve()
}

// serve grants units in the order of the queue.
func (s *Semaphore) serve() {
	n := 0
	for n < len(s.waiting) && s.fits(s.waiting[n]) {
		s.grant(s.waiting[n])
		n++
	}
	s.waiting = slices.Delete(s.waiting, 0, n)
}

func (s *Semaphore) fits(w *waiter) bool { return s.held+w.units <= s.capacity }

func (s *Semaphore) grant(w *waiter) {
	s.held += w.units
	close(w.granted)
}

// Held returns how many units are taken.
func (s *Semaphore) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Waiting returns how many requests wait.
func (s *Semaphore) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}
