package readapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

const (
	// watermarkInterval is how often the watermarks that pages wait for are read.
	watermarkInterval = 25 * time.Millisecond
	// watermarkTimeout is the longest duration of a read. It bounds how long reading goes on when nobody waits any more. A page still waits
	// after it: the next read can be faster.
	watermarkTimeout = time.Second
)

// watermarks reads watermarks while pages wait for them, with one statement for all of these. While none waits, there is no statement and
// no goroutine.
type watermarks struct {
	projection *query.Projection

	mu      sync.Mutex
	waiting map[*watermarkWaiter]struct{}
	running bool // a goroutine reads, and ends when nobody waits
}

// watermarkWaiter waits until a phone system's watermark has reached an instant.
type watermarkWaiter struct {
	system uuid.UUID
	until  time.Time
	done   chan error // of one element
}

func newWatermarks(p *query.Projection) *watermarks {
	return &watermarks{projection: p, waiting: make(map[*watermarkWaiter]struct{})}
}

// await waits until the watermark has reached an instant. It returns [query.ErrNoSystem] if the phone system was deleted.
func (m *watermarks) await(ctx context.Context, system uuid.UUID, until time.Time) error {
	w := &watermarkWaiter{system: system, until: until, done: make(chan error, 1)}
	m.add(w)
	defer m.remove(w)
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *watermarks) add(w *watermarkWaiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[w] = struct{}{}
	if !m.running {
		m.running = true
		go m.run()
	}
}

func (m *watermarks) remove(w *watermarkWaiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, w)
}

// run reads watermarks until nobody waits.
func (m *watermarks) run() {
	tick := time.NewTicker(watermarkInterval)
	defer tick.Stop()
	for range tick.C {
		waiters := m.waiters()
		if len(waiters) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), watermarkTimeout)
		found, err := m.projection.Watermarks(ctx, systemsOf(waiters))
		cancel()
		for _, w := range waiters {
			m.answer(w, found, err)
		}
	}
}

// waiters returns those that wait. If there are none, the goroutine must end.
func (m *watermarks) waiters() []*watermarkWaiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = len(m.waiting) > 0
	waiters := make([]*watermarkWaiter, 0, len(m.waiting))
	for w := range m.waiting {
		waiters = append(waiters, w)
	}
	return waiters
}

func systemsOf(waiters []*watermarkWaiter) []uuid.UUID {
	systems := make([]uuid.UUID, len(waiters))
	for i, w := range waiters {
		systems[i] = w.system
	}
	slices.SortFunc(systems, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(systems)
}

// answer ends the wait if the watermark has been reached or can't be read. A read that took too long, or met another number of partitions
// each time, says neither.
func (m *watermarks) answer(w *watermarkWaiter, found map[uuid.UUID]time.Time, err error) {
	watermark, exists := found[w.system]
	switch {
	case exists && watermark.Before(w.until):
		return
	case exists:
		err = nil // that of another phone system
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, access.ErrSwitching):
		return
	case err == nil:
		err = query.ErrNoSystem
	}
	m.remove(w)
	w.done <- err
}
