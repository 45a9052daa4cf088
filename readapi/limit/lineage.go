package limit

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// lineage is what this reader knows of a lineage's counters, and the requests that wait for them.
type lineage struct {
	id   uuid.UUID
	last time.Time // when it was last used; guarded by the limiter's mutex

	mu      sync.Mutex
	stored  version // older than the server's if another reader has written since
	local   counters
	waiting []*waiter
	serving bool // a goroutine writes versions
}

// waiter is a request that waits for a decision.
type waiter struct {
	buckets []bucket
	decided chan struct{} // closed when the wait has ended, except by the request itself

	// Guarded by the lineage's mutex.
	done     bool
	decision *Decision // nil: NATS has not decided
	quotas   []quota   // after its permits are taken
}

// end ends a request's wait, unless it has ended.
func (w *waiter) end(d *Decision) {
	if !w.done {
		w.done, w.decision = true, d
		close(w.decided)
	}
}

// maxWaiting is how many requests of one lineage can wait.
const maxWaiting = 4096

// refuseFull refuses a request if the counters in memory are full: what they have is stored, and has not returned.
// Otherwise it returns nil.
func (k *lineage) refuseFull(w *waiter, m moment) *Decision {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored.advance(m)
	if !k.stored.full(w.buckets, m) {
		return nil
	}
	return w.refuse(refusedLocally, k.stored.quotas(w.buckets, m))
}

// takeLocally decides about a request in the counters that other readers do not see.
func (k *lineage) takeLocally(w *waiter, m moment) *Decision {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.local.advance(m)
	if taken := k.local.take(w.buckets, m); !taken {
		return w.refuse(unreachableRefused, k.local.quotas(w.buckets, m))
	}
	return w.allow(unreachableAllowed, k.local.quotas(w.buckets, m))
}

// enqueue makes a request wait. It returns false if too many do. If serve is true, the caller must start a goroutine
// that serves the lineage.
func (k *lineage) enqueue(w *waiter) (serve, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == maxWaiting {
		return false, false
	}
	k.waiting = append(k.waiting, w)
	serve = !k.serving
	k.serving = true
	return serve, true
}

// leave ends a request's wait and returns the decision, nil if there is none.
func (k *lineage) leave(w *waiter) *Decision {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.done = true
	return w.decision
}

// write is a version that is to be stored in place of the last one, and the requests whose permits it adds.
type write struct {
	version
	expected uint64 // sequence of the last version
	takers   []*waiter
}

// next makes a version with the permits of all requests that wait, in the order of their arrival. It refuses requests
// for which the stored version is full. A request for which only the new version is full waits until that is stored.
// It returns nil if there is nothing to write; then the lineage is no longer served.
func (k *lineage) next(m moment, mark uint64) *write {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored.advance(m)
	w := &write{version: k.stored, expected: k.stored.sequence}
	w.mark = mark

	var waiting []*waiter
	for _, r := range k.waiting {
		switch {
		case r.done:
		case k.stored.full(r.buckets, m):
			r.end(r.refuse(refused, k.stored.quotas(r.buckets, m)))
		case w.take(r.buckets, m):
			r.quotas = w.quotas(r.buckets, m)
			w.takers = append(w.takers, r)
		default:
			waiting = append(waiting, r)
		}
	}
	k.waiting = waiting

	k.serving = len(w.takers) > 0
	if !k.serving {
		return nil
	}
	return w
}

// confirm takes over a version that is stored, and allows its requests.
func (k *lineage) confirm(w *write, sequence uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored = w.version
	k.stored.sequence = sequence
	for _, r := range w.takers {
		r.end(r.allow(allowed, r.quotas))
	}
}

// replace takes over the version that is stored instead of a reader's. The requests of the write wait again.
func (k *lineage) replace(w *write, stored version) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored.merge(stored.counters)
	k.stored.sequence = stored.sequence
	k.waiting = append(w.takers, k.waiting...)
}

// fail ends the wait of a write's requests without a decision.
func (k *lineage) fail(w *write) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range w.takers {
		r.end(nil)
	}
}

// forgetSequence makes the next version one that replaces none.
func (k *lineage) forgetSequence() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stored.sequence = 0
}
