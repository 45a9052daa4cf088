package limit

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

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
	return quota{policy: b.policy, remaining: max(0, b.limit-w.permits), wait: w.end.Sub(now)}, taken
}

// giveBack gives back a permit of the window with the given end.
func (c *localCounter) giveBack(lineage uuid.UUID, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.windows[lineage]; ok && w.end.Equal(end) {
		w.permits--
		c.windows[lineage] = w
	}
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
