package audit

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/audit"
)

// Config configures a queue.
type Config struct {
	JetStream jetstream.JetStream // of a connection that reconnects without limit
	Capacity  int                 // slots; zero means 65536
	Log       zerolog.Logger
	Metrics   prometheus.Registerer
}

const defaultCapacity = 65536

// ErrFull is returned if no slot is free. Then too many entries wait for their acknowledgement, usually because the stream is unreachable.
var ErrFull = errors.New("the audit queue is full")

// Queue publishes audit entries on the stream. It is safe for concurrent use.
type Queue struct {
	js      jetstream.JetStream
	log     zerolog.Logger
	metrics *metrics
	changed chan struct{} // has an element if Run must look at the queue

	mu       sync.Mutex
	capacity int           // 0 once Run is stopping
	taken    int           // slots that are reserved, or hold an entry that is not acknowledged
	pending  []audit.Entry // not acknowledged, in the order of Record
}

// NewQueue returns an empty queue and registers its metrics with config.Metrics.
func NewQueue(config Config) (*Queue, error) {
	if config.Capacity == 0 {
		config.Capacity = defaultCapacity
	}
	q := &Queue{js: config.JetStream, log: config.Log, capacity: config.Capacity, changed: make(chan struct{}, 1)}
	q.metrics = newMetrics(q.pendingCount)
	if err := q.metrics.register(config.Metrics); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return q, nil
}

// Reserve reserves a slot for one entry without waiting. It returns [ErrFull] if none is free. The caller must fill the slot with
// Record, once.
func (q *Queue) Reserve() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.taken >= q.capacity {
		q.metrics.refused.Inc()
		return ErrFull
	}
	q.taken++
	return nil
}

// Record fills a reserved slot without waiting. It sets a missing ID and a missing time, truncates the time to microseconds, and
// removes from texts what PostgreSQL cannot store.
func (q *Queue) Record(e audit.Entry) {
	e = normalize(e)
	q.mu.Lock()
	q.pending = append(q.pending, e)
	q.mu.Unlock()
	q.metrics.recorded.Inc()
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// Full reports whether the next Reserve would be refused.
func (q *Queue) Full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken >= q.capacity
}

func (q *Queue) pendingCount() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return float64(len(q.pending))
}

func normalize(e audit.Entry) audit.Entry {
	if e.ID == uuid.Nil {
		e.ID = uuid.Must(uuid.NewV7())
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.At = e.At.UTC().Truncate(time.Microsecond)
	e.Operation, e.Code, e.RequestID = storable(e.Operation), storable(e.Code), storable(e.RequestID)
	if e.Address != (netip.Addr{}) {
		e.Address = e.Address.WithZone("")
	}
	return e
}

// storable removes NUL and invalid UTF-8.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}

type metrics struct {
	recorded     prometheus.Counter
	acknowledged prometheus.Counter
	refused      prometheus.Counter
	waiting      prometheus.GaugeFunc
}

func newMetrics(waiting func() float64) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "callboard_readapi_audit_" + name, Help: help})
	}
	return &metrics{
		recorded:     counter("recorded_total", "Audit entries recorded."),
		acknowledged: counter("acknowledged_total", "Audit entries acknowledged by the stream."),
		refused:      counter("refused_total", "Requests refused because the audit queue was full."),
		waiting: prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "callboard_readapi_audit_waiting", Help: "Audit entries that the stream has not acknowledged.",
		}, waiting),
	}
}

func (m *metrics) register(registry prometheus.Registerer) error {
	return errors.Join(registry.Register(m.recorded), registry.Register(m.acknowledged),
		registry.Register(m.refused), registry.Register(m.waiting))
}
