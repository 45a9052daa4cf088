package limit

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// minBlocked is the shortest time for which a bucket is blocked. The server removes old messages only every 250 ms, so a permit
// that has expired may still count.
const minBlocked = 100 * time.Millisecond

// blocked remembers the buckets that are known to be full, so that this reader refuses requests without asking NATS.
type blocked struct {
	mu    sync.Mutex
	until map[string]time.Time // by subject
}

func newBlocked() *blocked { return &blocked{until: make(map[string]time.Time)} }

// add blocks full buckets until their next permit returns, for one window at most.
func (b *blocked) add(full []quota, now time.Time, window time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range full {
		b.until[q.bucket.subject] = now.Add(min(max(q.next.Sub(now), minBlocked), window))
	}
}

// find returns the quotas of those buckets that are blocked.
func (b *blocked) find(buckets []bucket, now time.Time) []quota {
	b.mu.Lock()
	defer b.mu.Unlock()
	var full []quota
	for _, bucket := range buckets {
		if until, ok := b.until[bucket.subject]; ok && now.Before(until) {
			full = append(full, quota{bucket: bucket, next: until})
		}
	}
	return full
}

// prune removes buckets that are no longer blocked.
func (b *blocked) prune(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for subject, until := range b.until {
		if !now.Before(until) {
			delete(b.until, subject)
		}
	}
}

// localCounter counts what this reader allows by itself while NATS does not decide. A key's window begins with its first request.
type localCounter struct {
	mu      sync.Mutex
	window  time.Duration
	windows map[uuid.UUID]localWindow // by lineage
}

type localWindow struct {
	permits int
	end     time.Time
}

func newLocalCounter(window time.Duration) *localCounter {
	return &localCounter{window: window, windows: make(map[uuid.UUID]localWindow)}
}

// take takes one of the bucket's permits and returns the quota that is left. It returns false if there was no permit.
func (c *localCounter) take(lineage uuid.UUID, b bucket, now time.Time) (quota, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.windows[lineage]
	if !ok || !now.Before(w.end) {
		w = localWindow{end: now.Add(c.window)}
	}
	taken := w.permits < b.limit
	if taken {
		w.permits++
		c.windows[lineage] = w
	}
	return quota{bucket: b, remaining: max(0, b.limit-w.permits), next: w.end}, taken
}

// prune removes windows that have ended.
func (c *localCounter) prune(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for lineage, w := range c.windows {
		if !now.Before(w.end) {
			delete(c.windows, lineage)
		}
	}
}
