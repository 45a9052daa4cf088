package auditqueue

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
)

// Config configures a queue.
type Config struct {
	JetStream jetstream.JetStream // of a connection that reconnects without limit
	Capacity  int                 // places for entries; zero means 65536
	Log       zerolog.Logger
	Metrics   prometheus.Registerer

	FlushTimeout time.Duration // how long Run continues after the end of its context; zero means 5 seconds
}

const (
	defaultCapacity     = 65536
	defaultFlushTimeout = 5 * time.Second
)

// ErrFull is returned if no place is free. Then too many entries wait for their acknowledgement, usually because the
// stream is unreachable.
var ErrFull = errors.New("the audit queue is full")

// Queue publishes audit entries on the stream. It is safe for concurrent use.
type Queue struct {
	js      jetstream.JetStream
	log     zerolog.Logger
	metrics metrics
	flush   time.Duration // how long Run continues after the end of its context
	full    chan struct{} // has an element if the pending entries fill a message

	mu       sync.Mutex
	places   places
	pending  []pending // not acknowledged, in the order of Record
	refusals refusals
}

// pending is an entry in its place.
type pending struct {
	events.AuditEntry
	lineage uuid.UUID
	refused bool
}

// NewQueue returns an empty queue and registers its metrics with config.Metrics.
func NewQueue(config Config) *Queue {
	capacity := cmp.Or(config.Capacity, defaultCapacity)
	q := &Queue{
		js: config.JetStream, log: config.Log, flush: cmp.Or(config.FlushTimeout, defaultFlushTimeout),
		full: make(chan struct{}, 1), places: newPlaces(capacity), refusals: newRefusals(capacity),
	}
	q.metrics = newMetrics(config.Metrics, q.pendingCount, capacity)
	return q
}

// Reserve reserves a place for the entry of a lineage's request, without waiting. It returns [ErrFull] if none is free.
// The caller must fill the place with Record, or free it with Release, once.
func (q *Queue) Reserve(lineage uuid.UUID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.places.take(lineage, false) {
		q.metrics.refused.Inc()
		return ErrFull
	}
	return nil
}

// Release frees a reserved place.
func (q *Queue) Release(lineage uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.places.add(lineage, false, -1)
}

// Record fills a reserved place without waiting. It sets a missing ID, and truncates its time to microseconds.
func (q *Queue) Record(lineage uuid.UUID, e events.AuditEntry) {
	e = identified(e)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.append(pending{e, lineage, false})
}

// RecordRefused records a request that has no permit, in a separate entry or in one entry for several. It needs no
// reservation, and neither waits nor fails. What is counted after the end of Run is lost.
func (q *Queue) RecordRefused(lineage uuid.UUID, e events.AuditEntry) {
	e = identified(e)
	q.metrics.counted.Inc()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusals.add(lineage, e, time.Now(), q.appendRefused)
}

// identified returns the entry with an ID, and with its time as PostgreSQL stores it.
func identified(e events.AuditEntry) events.AuditEntry {
	if e.ID == uuid.Nil {
		e.ID = uuid.Must(uuid.NewV7())
	}
	e.At = e.At.UTC().Truncate(time.Microsecond)
	return e
}

// appendRefused takes a place for an entry and fills it. It returns false if there is none.
func (q *Queue) appendRefused(lineage uuid.UUID, e events.AuditEntry) bool {
	if !q.places.take(lineage, true) {
		return false
	}
	q.append(pending{e, lineage, true})
	return true
}

// append fills a place.
func (q *Queue) append(p pending) {
	q.pending = append(q.pending, p)
	q.metrics.recorded.Inc()
	if len(q.pending) < events.MaxAuditEntries {
		return
	}

	// Run is told once, even if it does not listen yet.
	select {
	case q.full <- struct{}{}:
	default:
	}
}

// Full reports whether every Reserve would be refused.
func (q *Queue) Full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.places.taken >= q.places.capacity
}

func (q *Queue) pendingCount() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return float64(len(q.pending))
}
