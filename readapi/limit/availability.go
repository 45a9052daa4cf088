package limit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// breaker says whether NATS can be consulted. While it can't, requests are decided at once without NATS.
type breaker struct {
	mu      sync.Mutex
	err     error         // why it can't; nil: it can
	changed chan struct{} // closed at the next change
}

// errStarting is the breaker's error until the first check.
var errStarting = errors.New("not yet checked")

func newBreaker() *breaker { return &breaker{err: errStarting, changed: make(chan struct{})} }

// set notes whether NATS can be consulted. It returns whether that is a change. The first of several reasons stays.
func (b *breaker) set(err error) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !errors.Is(b.err, errStarting) && (err == nil) == (b.err == nil) {
		return false
	}
	b.err = err
	close(b.changed)
	b.changed = make(chan struct{})
	return true
}

// state returns why NATS can't be consulted, and a channel that is closed when this changes.
func (b *breaker) state() (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed, b.err
}

// unavailable ends the wait of all requests: NATS can't be consulted.
func (l *Limiter) unavailable(err error) {
	if l.breaker.set(err) {
		l.log.Warn().Err(err).Msg("budgets unreachable")
	}
}

// noReply takes NATS for unavailable if it has not replied to anything while a request waited. Requests that could not
// wait for long say nothing.
func (l *Limiter) noReply(began time.Time, timeout time.Duration) {
	if timeout >= l.timeout/4 && l.store.repliedBefore(began) {
		l.unavailable(errNoReply)
	}
}

// failed notes why a lineage was not decided. Some reasons concern all lineages.
func (l *Limiter) failed(err error) {
	for _, reason := range []error{
		errDisconnected, jetstream.ErrNoStreamResponse, jetstream.ErrStreamNotFound, nats.ErrNoResponders,
		nats.ErrConnectionClosed,
	} {
		if errors.Is(err, reason) {
			l.unavailable(err)
			return
		}
	}
	l.log.Warn().Err(err).Msg("budget of a key not consulted")
}

const (
	// checkInterval is how often the stream and the server's clock are looked at, and unused counters are forgotten.
	checkInterval = 10 * time.Second

	// probeInterval is how often that is while NATS can't be consulted.
	probeInterval = 100 * time.Millisecond

	// keep is how long unused counters are remembered. It is longer than the window, so that counters that the server
	// loses are not lost.
	keep = 2 * time.Minute
)

// maintain checks that NATS can be consulted and forgets unused counters, until ctx ends.
func (l *Limiter) maintain(ctx context.Context) error {
	conn := l.store.js.Conn()
	lost := conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer conn.RemoveStatusListener(lost)
	defer l.breaker.set(context.Canceled)

	for ctx.Err() == nil {
		if conn.IsClosed() {
			return nats.ErrConnectionClosed
		}
		l.prune(time.Now())
		l.check(ctx)

		// The next check comes early if NATS can't be consulted, or if that changes.
		changed, err := l.breaker.state()
		interval := checkInterval
		if err != nil {
			interval = probeInterval
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-lost:
			if !conn.IsConnected() { // it may have connected again meanwhile
				l.unavailable(errDisconnected)
			}
		case <-time.After(interval):
		}
	}
	return nil
}

// check opens the breaker unless the stream counts permits and the server decides about writes.
func (l *Limiter) check(ctx context.Context) {
	found, err := l.store.ensure(ctx, l.clock.local)
	if err == nil {
		l.clock.sample.Store(found)
		err = l.store.probe(ctx)
	}

	switch _, before := l.breaker.state(); {
	case ctx.Err() != nil:
	case err != nil:
		l.unavailable(err)
	case before != nil:
		l.forgetSequences()
		if l.breaker.set(nil) && !errors.Is(before, errStarting) {
			l.log.Info().Msg("budgets reachable again")
		}
	}
}

// forgetSequences makes the next write of each lineage read what the server has. After an outage the stream may be
// another one, in which a remembered sequence belongs to a version that this reader does not know.
func (l *Limiter) forgetSequences() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.lineages {
		k.forgetSequence()
	}
}

// prune forgets lineages that are not used any more.
func (l *Limiter) prune(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, k := range l.lineages {
		if now.Sub(k.last) > keep {
			delete(l.lineages, id)
		}
	}
}
