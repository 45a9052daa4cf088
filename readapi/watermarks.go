package readapi

import (
	"context"
	"sync"
	"time"

	"callboard/readapi/query"
)

const (
	// watermarkInterval is how often the watermarks that pages wait for are read.
	watermarkInterval = 25 * time.Millisecond

	// watermarkTimeout is the longest duration of a read. It bounds how long reading goes on when no page waits any
	// more.
	watermarkTimeout = time.Second
)

// watermarks reads the watermarks of all partitions while pages wait for them, with one statement for all pages. While
// no page waits, there is no statement and no goroutine.
type watermarks struct {
	projection *query.Projection

	mu      sync.Mutex
	waiting map[*watermarkWaiter]struct{}
	running bool // a goroutine reads, and ends when no page waits
}

// watermarkWaiter waits until a partition's watermark has reached an instant.
type watermarkWaiter struct {
	partition int
	until     time.Time
	reached   chan struct{}
}

func newWatermarks(p *query.Projection) *watermarks {
	return &watermarks{projection: p, waiting: make(map[*watermarkWaiter]struct{})}
}

// await waits until a partition's watermark has reached an instant, or ctx ends. A read that fails does not end the
// wait: the next one may succeed.
func (m *watermarks) await(ctx context.Context, partition int16, until time.Time) {
	w := &watermarkWaiter{partition: int(partition), until: until, reached: make(chan struct{})}

	// One goroutine reads for all pages that wait, and the first page starts it.
	m.mu.Lock()
	m.waiting[w] = struct{}{}
	if !m.running {
		m.running = true
		go m.run()
	}
	m.mu.Unlock()

	select {
	case <-w.reached:
	case <-ctx.Done():
		m.mu.Lock()
		delete(m.waiting, w)
		m.mu.Unlock()
	}
}

// run reads watermarks until no page waits.
func (m *watermarks) run() {
	tick := time.NewTicker(watermarkInterval)
	defer tick.Stop()

	// The lock decides whether the goroutine ends: a page that comes later starts another goroutine.
	for range tick.C {
		m.mu.Lock()
		m.running = len(m.waiting) > 0
		running := m.running
		m.mu.Unlock()
		if !running {
			return
		}

		ctx, cancel := context.WithTimeout(context.Background(), watermarkTimeout)
		if found, err := m.projection.Freshness(ctx); err == nil {
			m.release(found.Watermarks)
		}
		cancel()
	}
}

// release ends the waits for watermarks that have been reached.
func (m *watermarks) release(found map[int]time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.waiting {
		if watermark, exists := found[w.partition]; exists && !watermark.Before(w.until) {
			delete(m.waiting, w)
			close(w.reached)
		}
	}
}
