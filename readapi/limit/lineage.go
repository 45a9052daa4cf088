package limit

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// lineage is what this reader knows of a lineage's log, and the requests that wait for it.
type lineage struct {
	id     uuid.UUID
	window tick
	used   time.Time // guarded by the limiter's mutex
	// maxUnchecked is how old the log in memory may be to refuse a request while NATS can be consulted. A log that was full can have room again
	// before its permits expire only if another reader has given permits back.
	maxUnchecked time.Duration

	mu       sync.Mutex
	log      permitLog // as stored; older than the server's if another reader has written since
	sequence uint64    // of the log; 0: the server has none
	checked  time.Time // when the log in memory was last the server's
	waiting  []*waiter
	unused   []*waiter // their permits are stored, and the next version gives them back
	serving  bool      // a goroutine writes the log
}

// waiter is a request that waits for a decision.
type waiter struct {
	buckets []bucket
	window  time.Duration
	decided chan result // has room for one
	began   time.Time
	timeout time.Duration

	// Guarded by the lineage's mutex.
	done   bool
	local  *Decision // not nil: decided without NATS
	at     tick      // of its permits; the stored log counts them from this tick or from a later one
	quota  []quota   // after its permits are taken
	origin uint64    // of the log that has its permits
}

// result is a decision, or the reason why there is none.
type result struct {
	decision *Decision
	err      error
}

// maxWaiting is how many requests of one lineage can wait.
const maxWaiting = 4096

func (w *waiter) resolve(r result) {
	if !w.done {
		w.done = true
		w.decided <- r
	}
}

// refuseFull refuses a request if the log in memory is full: what it holds is stored, not over, and not about to be given back.
// It does nothing if the log is older than oldest.
func (k *lineage) refuseFull(w *waiter, now tick, oldest time.Duration) *Decision {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log.expire(now, k.window)
	if time.Since(k.checked) > oldest || len(k.unused) > 0 || !k.log.full(w.buckets) {
		return nil
	}
	return w.refuse(k.log.quotas(w.buckets, now, k.window))
}

// enqueue makes a request wait. It returns false if too many do. If serve is true, the caller must start to serve the lineage.
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

// leave ends a request's wait. It returns false if the request is decided already. If its permits turn out to be stored although it was
// refused, they are given back.
func (k *lineage) leave(w *waiter, local *Decision) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.done {
		return false
	}
	w.done, w.local = true, local
	return true
}

// write is a version of the log that is to be stored.
type write struct {
	log      permitLog
	expected uint64 // sequence of the version that it is made from
	writer   writer
	waiters  []*waiter // whose permits it adds
	unused   []*waiter // whose permits it gives back
}

// giveBack makes the next version give back the permits of an allowed request. Permits of which no version is written before they expire
// stay taken.
func (k *lineage) giveBack(w *waiter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unused = append(k.unused, w)
}

// next makes a version with the permits of all requests that wait, in the order of their arrival, and without those that are given back.
// It refuses requests for which the stored log is full without the latter. Those for which only the version is full, or the log in memory
// is old, go on waiting until the version is stored. It returns nil if there is nothing to write; then the lineage is no longer served. The
// server's clock is between now and latest.
func (k *lineage) next(now, latest tick, by writer, origin uint64) *write {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetExpired(now)
	k.forgetUnused(latest)
	w := &write{log: k.log.clone(), expected: k.sequence, writer: by, unused: k.unused}
	if k.sequence == 0 {
		w.log.origin = origin
	}
	w.log.begin(now, by)
	used := &k.log
	if len(w.unused) > 0 {
		for _, u := range w.unused {
			for _, b := range u.buckets {
				w.log.giveBack(b.name, u.at)
			}
		}
		left := w.log.clone()
		used = &left
	}
	k.waiting = slices.DeleteFunc(k.waiting, func(r *waiter) bool { return k.decideOrTake(r, w, used, now) })
	if len(w.waiters)+len(w.unused)+len(k.waiting) == 0 {
		k.serving = false
		return nil
	}
	return w
}

// forgetExpired removes expired permits. A log of which the server has removed the message begins again.
func (k *lineage) forgetExpired(now tick) {
	k.log.expire(now, k.window)
	if k.log.newest+k.window+ticks(logRetention)+maxAhead < now {
		k.log, k.sequence = permitLog{}, 0
	}
}

// forgetUnused keeps the permits that can be given back: those that no reader can have removed as expired, in the log that they were
// stored in. Any other log may lack them, and another request's permits would be removed in their place.
func (k *lineage) forgetUnused(latest tick) {
	k.unused = slices.DeleteFunc(k.unused, func(u *waiter) bool {
		return u.origin != k.log.origin || u.at+k.window+1 <= latest
	})
}

// decideOrTake takes a request's permits from a version, or refuses it if the permits that are stored and used leave none. It returns false if
// the request must keep waiting.
func (k *lineage) decideOrTake(r *waiter, w *write, used *permitLog, now tick) bool {
	if r.done {
		return true
	}
	if used.full(r.buckets) && time.Since(k.checked) <= k.maxUnchecked {
		r.resolve(result{decision: r.refuse(used.quotas(r.buckets, now, k.window))})
		return true
	}
	if !w.log.take(r.buckets) {
		return false
	}
	r.at, r.quota = w.log.newest, w.log.quotas(r.buckets, now, k.window)
	w.waiters = append(w.waiters, r)
	return true
}

// confirm takes over a version that is stored and allows its requests.
func (k *lineage) confirm(w *write, stored version) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log, k.sequence = stored.log, stored.sequence
	k.log.setStoredTick(stored.stored)
	k.checked = time.Now()
	k.unused = k.unused[len(w.unused):]
	for _, r := range w.waiters {
		r.origin = k.log.origin
		if r.local != nil && !r.local.Allowed {
			k.unused = append(k.unused, r)
		}
		allowed := r.allow(r.quota)
		allowed.giveBack = func() { k.giveBack(r) }
		r.resolve(result{decision: allowed})
	}
}

// replace takes over the stored version after a conflict; the requests of the write wait again. It returns false if the version is dated
// in the future.
func (k *lineage) replace(w *write, stored version) (plausible bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	plausible = stored.sequence == 0 || stored.log.setStoredTick(stored.stored)
	if !plausible {
		k.unused = nil // their permits have moved to an earlier tick
	}
	if stored.log.origin != k.log.origin || stored.sequence < k.sequence {
		stored.log.merge(&k.log) // the server has lost what this reader knows
	}
	k.log, k.sequence, k.checked = stored.log, stored.sequence, time.Now()
	k.waiting = append(w.waiters, k.waiting...)
	return plausible
}

// fail ends the wait of a write's requests without a decision.
func (k *lineage) fail(w *write, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unused = k.unused[len(w.unused):] // if the version is stored after all, they must not be given back again
	for _, r := range w.waiters {
		r.resolve(result{err: err})
	}
}

// stopServing marks that no goroutine serves the lineage.
func (k *lineage) stopServing() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.serving = false
}
