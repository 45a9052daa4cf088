package readapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/semaphore"
)

// Reasons why memory is not reserved. A wait that lasted too long has the reason of its queue.
var (
	errLineageMemory = errors.New("too many requests of the lineage are being answered")
	errBodyMemory    = errors.New("the memory for responses is used up")
)

const (
	lineageQueue   = 128  // requests that can wait for their lineage's share
	bodyQueue      = 1024 // requests that can wait for the memory of all lineages
	atOnce         = 16   // reservations that use up a lineage's share
	lineagesToFill = 8    // lineages that can use all of the memory
)

// memory bounds the memory that responses take, in all and for each lineage of keys. It is safe for concurrent use.
//
// A request reserves memory before its first statement on the projection and releases it after the last byte of its
// response. It waits in the order of arrival, first for its lineage's share, then for the memory of all lineages. The
// share is an eighth of the memory, and at least the largest reservation. So a lineage whose clients read slowly, or
// that sends many requests at once, delays only itself.
type memory struct {
	share int64
	all   *bytePool
	held  atomic.Int64

	mu       sync.Mutex
	lineages map[uuid.UUID]*lineageShare
}

// lineageShare is the share of a lineage. It exists while requests of the lineage have or want memory.
type lineageShare struct {
	*bytePool
	requests int // guarded by the memory's mutex
}

// newMemory returns a memory of capacity bytes, which is at least the largest reservation, and registers its metrics.
func newMemory(capacity, largest int64, metrics prometheus.Registerer) (*memory, error) {
	if capacity < largest {
		return nil, fmt.Errorf("memory for responses of %d bytes: use %d or more", capacity, largest)
	}

	m := &memory{
		share:    max(capacity/lineagesToFill, largest),
		all:      newBytePool(capacity, bodyQueue),
		lineages: make(map[uuid.UUID]*lineageShare),
	}

	factory := promauto.With(metrics)
	gauge := func(name, help string, labels prometheus.Labels, value func() int64) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "callboard_readapi_body_" + name, Help: help, ConstLabels: labels,
		}, func() float64 { return float64(value()) })
	}

	const waitingHelp = "Requests that wait for memory for their response, by queue: " +
		"lineage, for their lineage's share, or bytes, for the memory of all."
	gauge("waiting", waitingHelp, prometheus.Labels{"queue": "lineage"}, m.waiting)
	gauge("waiting", waitingHelp, prometheus.Labels{"queue": "bytes"}, m.all.waiting.Load)

	gauge("bytes", "Bytes that are reserved for responses, until their last byte is written.", nil, m.held.Load)
	gauge("capacity_bytes", "Bytes that can be reserved for responses.", nil, func() int64 { return capacity })

	return m, nil
}

// reservation is the memory of a request. It is not safe for concurrent use.
type reservation struct {
	memory  *memory
	id      uuid.UUID
	lineage *lineageShare
	bytes   int64
}

// reserve reserves bytes for a request of a lineage, and waits for them until an instant. A reservation is a sixteenth
// of the share at least, so a lineage has 16 statements at once. The error is errLineageMemory, errBodyMemory or the
// error of ctx. The caller must release the reservation.
func (m *memory) reserve(ctx context.Context, id uuid.UUID, bytes int64, until time.Time) (*reservation, error) {
	r := &reservation{memory: m, id: id, lineage: m.enter(id), bytes: max(bytes, m.share/atOnce)}
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()

	// The lineage's share is taken first: a request that waits for it holds nothing that other lineages need.
	var refused error
	if !r.lineage.acquire(wait, r.bytes) {
		refused = errLineageMemory
	} else if !m.all.acquire(wait, r.bytes) {
		r.lineage.Release(r.bytes)
		refused = errBodyMemory
	}

	if refused == nil {
		m.held.Add(r.bytes)
		return r, nil
	}

	// A request that has ended was not refused for lack of memory.
	m.leave(id)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, refused
}

// shrink gives back what the reservation has beyond some bytes.
func (r *reservation) shrink(bytes int64) {
	if beyond := r.bytes - bytes; beyond > 0 {
		r.lineage.Release(beyond)
		r.memory.all.Release(beyond)
		r.memory.held.Add(-beyond)
		r.bytes = bytes
	}
}

// release gives everything back. It must be called once.
func (r *reservation) release() {
	r.shrink(0)
	r.memory.leave(r.id)
}

// enter returns the share of a lineage, which leave must give back.
func (m *memory) enter(id uuid.UUID) *lineageShare {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lineages[id]
	if l == nil {
		l = &lineageShare{bytePool: newBytePool(m.share, lineageQueue)}
		m.lineages[id] = l
	}
	l.requests++
	return l
}

// leave forgets a lineage with its last request.
func (m *memory) leave(id uuid.UUID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lineages[id]
	if l.requests--; l.requests == 0 {
		delete(m.lineages, id)
	}
}

// waiting returns how many requests wait for their lineages' shares.
func (m *memory) waiting() (requests int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.lineages {
		requests += l.waiting.Load()
	}
	return requests
}

// bytePool is a number of bytes, for which a bounded number of requests waits in the order of arrival.
type bytePool struct {
	*semaphore.Weighted
	queue   int64
	waiting atomic.Int64
}

func newBytePool(capacity, queue int64) *bytePool {
	return &bytePool{Weighted: semaphore.NewWeighted(capacity), queue: queue}
}

// acquire takes bytes, and waits for them until ctx ends. It returns false if it has taken none, because ctx has ended
// or too many requests wait.
func (p *bytePool) acquire(ctx context.Context, bytes int64) bool {
	if p.TryAcquire(bytes) {
		return true
	}
	defer p.waiting.Add(-1)
	return p.waiting.Add(1) <= p.queue && p.Acquire(ctx, bytes) == nil
}
