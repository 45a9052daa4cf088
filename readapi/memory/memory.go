// Package memory bounds the memory that responses take, in all and for each lineage of keys.
//
// A request reserves memory before its first statement on the projection and releases it after the last byte of its response:
//
//	bytes of its lineage's share          up to 128 requests wait
//	bytes of the memory of all lineages   up to 1,024 requests wait
//
// The share is an eighth of the memory, and at least the largest reservation. A reservation is a sixteenth of the share
// at least, so that a lineage has 16 statements at once. Each wait is in the order of arrival. So a lineage whose
// clients read slowly, or that sends many requests at once, delays only itself.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/readapi/semaphore"
)

// Reasons why memory is not reserved. A wait that lasted too long has the reason of its queue.
var (
	ErrLineage = errors.New("too many requests of the lineage are being answered")
	ErrBytes   = errors.New("the memory for responses is used up")
)

const (
	lineageQueue   = 128
	atOnce         = 16 // reservations that use up a lineage's share
	bytesQueue     = 1024
	lineagesToFill = 8 // lineages that can use all of the memory
)

// Config configures a pool.
type Config struct {
	Capacity int64 // bytes, not less than Largest
	Largest  int64 // bytes of the largest reservation
	Metrics  prometheus.Registerer
}

// Pool is the memory for responses. It is safe for concurrent use.
type Pool struct {
	share int64
	bytes *semaphore.Semaphore

	mu       sync.Mutex
	lineages map[uuid.UUID]*lineage
}

// lineage is what the requests of a lineage have reserved. It exists while there are any.
type lineage struct {
	requests int // that have or want memory; guarded by the pool's mutex
	bytes    *semaphore.Semaphore
}

// New returns a pool and registers its metrics.
func New(c Config) (*Pool, error) {
	if c.Largest < 1 || c.Capacity < c.Largest {
		return nil, fmt.Errorf("memory for responses of %d bytes: use %d or more", c.Capacity, c.Largest)
	}
	b := &Pool{
		share:    max(c.Capacity/lineagesToFill, c.Largest),
		bytes:    semaphore.New(c.Capacity, bytesQueue),
		lineages: make(map[uuid.UUID]*lineage),
	}
	if err := b.register(c); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return b, nil
}

// Reservation is the memory of a request. It is not safe for concurrent use.
type Reservation struct {
	pool    *Pool
	id      uuid.UUID
	lineage *lineage
	bytes   int64
}

// Reserve reserves bytes for a request of a lineage, a sixteenth of its share at least, and waits for them until an
// instant. The error is [ErrLineage], [ErrBytes] or that of ctx. The caller must release the reservation.
func (b *Pool) Reserve(ctx context.Context, id uuid.UUID, bytes int64, until time.Time) (*Reservation, error) {
	r := &Reservation{pool: b, id: id, lineage: b.enter(id), bytes: max(bytes, b.share/atOnce)}
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	refused := r.reserve(wait)
	switch {
	case refused == nil:
		return r, nil
	case ctx.Err() != nil:
		refused = ctx.Err()
	}
	b.leave(id)
	return nil, refused
}

// reserve takes what the reservation needs, or nothing.
func (r *Reservation) reserve(ctx context.Context) error {
	if r.lineage.bytes.Acquire(ctx, r.bytes) != nil {
		return ErrLineage
	}
	if r.pool.bytes.Acquire(ctx, r.bytes) != nil {
		r.lineage.bytes.Change(-r.bytes)
		return ErrBytes
	}
	return nil
}

// Resize changes the reservation to the bytes that the response takes. It never waits: what exists is counted even if it is more than there
// is.
func (r *Reservation) Resize(bytes int64) {
	r.lineage.bytes.Change(bytes - r.bytes)
	r.pool.bytes.Change(bytes - r.bytes)
	r.bytes = bytes
}

// Release gives everything back. It must be called once.
func (r *Reservation) Release() {
	r.Resize(0)
	r.pool.leave(r.id)
}

// enter returns a lineage, which leave must give back.
func (b *Pool) enter(id uuid.UUID) *lineage {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lineages[id]
	if l == nil {
		l = &lineage{bytes: semaphore.New(b.share, lineageQueue)}
		b.lineages[id] = l
	}
	l.requests++
	return l
}

// leave forgets a lineage with its last request.
func (b *Pool) leave(id uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lineages[id]
	if l.requests--; l.requests == 0 {
		delete(b.lineages, id)
	}
}

// waiting returns how many requests wait for their lineages' shares.
func (b *Pool) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, l := range b.lineages {
		n += l.bytes.Waiting()
	}
	return n
}

func (b *Pool) register(c Config) error {
	const waitingName, waitingHelp = "callboard_readapi_body_waiting",
		"Requests that wait for memory for their response, by queue: lineage, for their lineage's share, or bytes, for the memory of all."
	queue := func(name string, waiting func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: waitingName, Help: waitingHelp, ConstLabels: prometheus.Labels{"queue": name},
		}, func() float64 { return float64(waiting()) })
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "callboard_readapi_body_bytes", Help: "Bytes that are reserved for responses, until their last byte is written.",
	}, func() float64 { return float64(b.bytes.Held()) })
	capacity := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "callboard_readapi_body_capacity_bytes", Help: "Bytes that can be reserved for responses.",
	})
	capacity.Set(float64(c.Capacity))
	var errs []error
	for _, collector := range []prometheus.Collector{queue("lineage", b.waiting), queue("bytes", b.bytes.Waiting), held, capacity} {
		errs = append(errs, c.Metrics.Register(collector))
	}
	return errors.Join(errs...)
}
