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

// Config is what a journal works with.
type Config struct {
	JetStream jetstream.JetStream // of a connection that reconnects for ever
	Capacity  int                 // entries that may wait for their acknowledgement; 0: 65536
	Log       zerolog.Logger
	Metrics   prometheus.Registerer
}

const defaultCapacity = 65536

// ErrFull is a journal without a free place: so many entries wait for their acknowledgement that the stream must be out of reach.
var ErrFull = errors.New("the audit journal is full")

// Queue takes entries and puts them on the stream. It is safe for concurrent use.
type Queue struct {
	js      jetstream.JetStream
	log     zerolog.Logger
	metrics *metrics
	changed chan struct{} // holds one element once Run has something to look at

	mu       sync.Mutex
	capacity int           // 0 once Run is asked to end
	taken    int           // places reserved, or filled and not acknowledged
	waiting  []audit.Entry // filled, in the order of recording
}

// NewQueue is an empty journal. Its metrics are registered with config.Metrics.
func NewQueue(config Config) (*Queue, error) {
	if config.Capacity == 0 {
		config.Capacity = defaultCapacity
	}
	j := &Queue{js: config.JetStream, log: config.Log, capacity: config.Capacity, changed: make(chan struct{}, 1)}
	j.metrics = newMetrics(j.queued)
	if err := j.metrics.register(config.Metrics); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return j, nil
}

// Reserve takes a place for one entry, without waiting. The error is [ErrFull] where there is none. Whoever holds a place fills it
// with Record, once.
func (j *Queue) Reserve() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.taken >= j.capacity {
		j.metrics.refused.Inc()
		return ErrFull
	}
	j.taken++
	return nil
}

// Record fills a reserved place, without waiting. An entry without an ID or a time gets them here; its time is kept to the
// microsecond, and its texts without what PostgreSQL can't keep.
func (j *Queue) Record(e audit.Entry) {
	e = complete(e)
	j.mu.Lock()
	j.waiting = append(j.waiting, e)
	j.mu.Unlock()
	j.metrics.recorded.Inc()
	j.wake()
}

// Full tells whether the next Reserve would be refused.
func (j *Queue) Full() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.taken >= j.capacity
}

// queued is how many entries wait for their acknowledgement.
func (j *Queue) queued() float64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return float64(len(j.waiting))
}

func (j *Queue) wake() {
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

// complete is the entry as it travels.
func complete(e audit.Entry) audit.Entry {
	if e.ID == uuid.Nil {
		e.ID = uuid.Must(uuid.NewV7())
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.At = e.At.UTC().Truncate(time.Microsecond)
	e.Operation, e.Code, e.RequestID = text(e.Operation), text(e.Code), text(e.RequestID)
	if e.Address != (netip.Addr{}) {
		e.Address = e.Address.WithZone("")
	}
	return e
}

// text is s without NUL and bad UTF-8.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
}
