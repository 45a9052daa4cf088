package limit

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// Request is a request that needs permits.
type Request struct {
	Lineage uuid.UUID // of the key: keys that replace each other share a budget
	Premium bool
	Report  Report
}

// buckets returns the budgets that a request is counted in. A report operation has no more permits than the tier.
func (l *Limiter) buckets(r Request) []bucket {
	tier := bucket{policy: tierPolicy, limit: l.config.Standard}
	if r.Premium {
		tier.limit = l.config.Premium
	}
	if r.Report == NoReport {
		return []bucket{tier}
	}
	return []bucket{{policy: reportPolicy, counter: r.Report, limit: min(l.config.Report, tier.limit)}, tier}
}

// Take takes a permit from each budget that the request is counted in, or from none. If ctx ends first, it refuses the
// request.
func (l *Limiter) Take(ctx context.Context, r Request) *Decision {
	began := time.Now()
	w := &waiter{buckets: l.buckets(r), decided: make(chan *Decision, 1)}
	k := l.enter(r.Lineage, w)
	d := l.await(ctx, w)

	// NATS has not decided.
	switch {
	case d != nil:
	case ctx.Err() != nil:
		d = &Decision{RetryAfter: 1, outcome: abandoned, buckets: w.buckets}
	case r.Report != NoReport:
		d = &Decision{RetryAfter: 1, outcome: refusedWithoutNATS, buckets: w.buckets}
	default:
		d = l.takeLocally(k, w.buckets)
	}

	l.metrics.count(d.outcome, began)
	return d
}

// maxWaiting is how many requests of one lineage can wait: more than a budget has permits.
const maxWaiting = 4096

// enter makes a request wait for the lineage's counters. It ends the wait at once if the counters in memory are full:
// what they have is stored, and has not returned. It also ends it if NATS can't be consulted, or if too many wait.
func (l *Limiter) enter(id uuid.UUID, w *waiter) *lineage {
	now := l.clock.now()
	l.mu.Lock()
	defer l.mu.Unlock()

	k := l.lineageOf(id)
	k.stored.advance(now)

	// Full counters refuse a request even while NATS can't be consulted.
	switch {
	case k.stored.full(w.buckets, now):
		w.decided <- k.stored.decision(refusedFromMemory, w.buckets, now)
	case l.bypassed():
		w.decided <- nil
	case len(k.waiting) == maxWaiting:
		w.decided <- &Decision{RetryAfter: 1, outcome: refusedFromMemory, buckets: w.buckets}

	default:
		k.waiting = append(k.waiting, w)
		l.serveWaiting(k)
	}
	return k
}

// await waits for a decision. It returns nil if there is none in time.
func (l *Limiter) await(ctx context.Context, w *waiter) *Decision {
	// The request needs the other half of its time for its answer.
	timeout := l.config.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/2)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()

	l.metrics.waiting.Inc()
	defer l.metrics.waiting.Dec()

	replies := l.store.replies.Load()
	select {
	case d := <-w.decided:
		return d
	case <-ctx.Done():
	case <-timer.C:
		// A server that has not replied to anything is unreachable. Requests that could not wait for long say nothing.
		if timeout >= l.config.Timeout/4 && l.store.replies.Load() == replies {
			l.unavailable(errNoReply)
		}
	}

	// A decision can have come meanwhile. A request that is gone takes no permit in a later version.
	l.mu.Lock()
	defer l.mu.Unlock()
	w.gone = true
	select {
	case d := <-w.decided:
		return d
	default:
		return nil
	}
}

// takeLocally decides about a request in the counters that other readers do not see.
func (l *Limiter) takeLocally(k *lineage, buckets []bucket) *Decision {
	now := l.clock.localNow()
	l.mu.Lock()
	defer l.mu.Unlock()

	k.local.advance(now)
	o := refusedWithoutNATS
	if k.local.take(buckets, now) {
		o = allowedWithoutNATS
	}
	return k.local.decision(o, buckets, now)
}

// lineage is what this reader knows of a lineage's counters, and the requests that wait for them. The limiter's mutex
// guards it.
type lineage struct {
	id   uuid.UUID
	last time.Time // when it was last used

	stored version  // older than the server's if another reader has written since
	local  counters // of decisions without NATS

	waiting  []*waiter
	deciding []*waiter // decided as soon as the next version is stored
	served   bool      // a goroutine writes versions
}

// waiter is a request that waits for a decision.
type waiter struct {
	buckets  []bucket
	decision *Decision      // holds once the next version is stored
	decided  chan *Decision // receives one; nil: NATS does not decide
	gone     bool           // the request waits no longer
}

// lineageOf returns a lineage, which is kept while it is used.
func (l *Limiter) lineageOf(id uuid.UUID) *lineage {
	k := l.lineages[id]
	if k == nil {
		k = &lineage{id: id}
		l.lineages[id] = k
	}
	k.last = time.Now()
	return k
}

// forgetSequence makes the next write read what the server has. After an outage the stream may be another one, in which
// the sequence belongs to a version that this reader does not know.
func (k *lineage) forgetSequence() { k.stored.sequence = 0 }

// serveWaiting starts a goroutine that decides about the requests that wait, unless there is one.
func (l *Limiter) serveWaiting(k *lineage) {
	if l.unreachable == nil && !k.served && len(k.waiting) > 0 {
		k.served = true
		l.serve(k)
	}
}

// serveLineage stores versions of a lineage's counters until no request waits for one.
func (l *Limiter) serveLineage(ctx context.Context, k *lineage) {
	for conflicts := 0; ; {
		next, taken := l.next(k)
		if !taken {
			return
		}

		stored, err := l.store.swap(ctx, k.id, next)
		switch own := l.settle(k, next, stored, err); {
		case own:
			conflicts = 0

		case err == nil:
			// Readers that write one version pause for a random time, so that they do not meet again.
			conflicts++
			time.Sleep(rand.N(500 * time.Microsecond << min(conflicts, 4)))

		case ctx.Err() == nil:
			l.failed(err)
		}
	}
}

// next decides about all requests that wait, in the order of their arrival. Their decisions hold once the version that
// it returns is stored. If they take no permit, nothing has to be stored: the decisions hold at once, and the lineage
// is no longer served.
func (l *Limiter) next(k *lineage) (next version, taken bool) {
	now := l.clock.now()
	l.mu.Lock()
	defer l.mu.Unlock()

	k.stored.advance(now)

	// The mark identifies this version even if its acknowledgement is lost.
	next = k.stored
	next.Mark = rand.Uint64()

	for _, w := range k.waiting {
		if w.gone {
			continue
		}

		o := refusedByNATS
		if next.take(w.buckets, now) {
			o, taken = allowedByNATS, true
		}
		w.decision = next.decision(o, w.buckets, now)
		k.deciding = append(k.deciding, w)
	}
	k.waiting = nil

	k.served = taken
	if !taken {
		k.end(true)
	}
	return next, taken
}

// settle takes over what the server has after an attempt to store the next version. It reports whether that is the
// reader's own version. If another reader was faster, the requests wait again.
func (l *Limiter) settle(k *lineage, next, stored version, err error) (own bool) {
	l.mu.Lock()
	defer l.mu.Unlock()

	own = err == nil && stored.Mark == next.Mark
	switch {
	case own:
		k.stored = stored
		k.end(true)
	case err != nil: // the permits may be used
		k.end(false)

	// Another reader was faster. Its permits count, and the requests wait again, before newer requests.
	default:
		k.stored.merge(stored.counters)
		k.stored.sequence = stored.sequence
		k.waiting = append(k.deciding, k.waiting...)
		k.deciding = nil
	}
	return own
}

// end ends the wait of the requests that are being decided, with their decisions or without one.
func (k *lineage) end(hold bool) {
	for _, w := range k.deciding {
		if !hold {
			w.decision = nil
		}
		w.decided <- w.decision
	}
	k.deciding = nil
}
