package limit

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// noReply takes NATS for unavailable if it has not replied to anything while a request waited. Requests that could not wait for long
// say nothing.
func (l *Limiter) noReply(w *waiter) {
	if w.timeout >= l.timeout/4 && l.store.repliedBefore(w.began) {
		l.unavailable(errNoReply)
	}
}

// unavailable ends the wait of all requests: NATS can't be consulted.
func (l *Limiter) unavailable(err error) {
	if l.breaker.open(err) {
		l.outage.begin(err)
	}
}

const (
	// checkInterval is how often the stream and the server's clock are looked at, and unused logs are forgotten.
	checkInterval = 10 * time.Second

	// probeInterval is how often that is while NATS cannot be consulted.
	probeInterval = 100 * time.Millisecond

	// keep is how long an unused log is remembered. It is longer than a window, so that a log that the server loses is not lost.
	keep = 2 * time.Minute
)

// maintain checks that NATS can be consulted and forgets unused logs, until ctx ends.
func (l *Limiter) maintain(ctx context.Context) error {
	lost := l.store.conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer l.store.conn.RemoveStatusListener(lost)
	defer l.breaker.open(context.Canceled)
	for {
		if l.store.conn.IsClosed() {
			return nats.ErrConnectionClosed
		}
		l.prune(time.Now())
		interval := checkInterval
		if err := l.check(ctx); ctx.Err() != nil {
			return nil
		} else if err != nil {
			interval = probeInterval
		}
		if err := l.pauseUntil(ctx, interval, lost); err != nil {
			return nil
		}
	}
}

// pauseUntil waits until the next check is due. The error is that of ctx.
func (l *Limiter) pauseUntil(ctx context.Context, interval time.Duration, lost <-chan nats.Status) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-lost:
		if !l.store.conn.IsConnected() { // it may have connected again meanwhile
			l.unavailable(errDisconnected)
		}
	case <-l.breaker.tripped:
	case <-timer.C:
	}
	return nil
}

// check opens the breaker unless the stream counts permits and the server decides about writes.
func (l *Limiter) check(ctx context.Context) error {
	err := errDisconnected
	if l.store.conn.IsConnected() {
		err = l.consult(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.unavailable(err)
	default:
		l.breaker.close()
		l.outage.end()
	}
	return err
}

func (l *Limiter) consult(ctx context.Context) error {
	s, err := l.store.ensure(ctx, l.clock.local)
	if err != nil {
		return err
	}
	l.clock.add(s)
	return l.store.probe()
}

// prune forgets what is not used any more.
func (l *Limiter) prune(now time.Time) {
	l.local.prune(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, k := range l.lineages {
		if now.Sub(k.used) > keep {
			delete(l.lineages, id)
		}
	}
}
