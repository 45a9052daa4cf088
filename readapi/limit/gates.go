package limit

import (
	"sync"
	"time"
)

// minClosed is how long a gate stays closed at least. The server looks for what is too old every 250 ms only, so a permit
// whose time is over may still be there.
const minClosed = 100 * time.Millisecond

// gates remember the buckets that are known to be full.
type gates struct {
	mu    sync.Mutex
	opens map[string]time.Time // by subject
}

func newGates() *gates { return &gates{opens: make(map[string]time.Time)} }

// close closes full buckets until a permit comes back, as far as the window reaches.
func (g *gates) close(full []standing, now time.Time, window time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range full {
		g.opens[s.bucket.subject] = now.Add(min(max(s.opens.Sub(now), minClosed), window))
	}
}

// closed are those of the buckets that are known to be full.
func (g *gates) closed(buckets []bucket, now time.Time) []standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	var full []standing
	for _, b := range buckets {
		if opens, ok := g.opens[b.subject]; ok && now.Before(opens) {
			full = append(full, standing{bucket: b, opens: opens})
		}
	}
	return full
}

// sweep forgets what has opened.
func (g *gates) sweep(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for subject, opens := range g.opens {
		if !now.Before(opens) {
			delete(g.opens, subject)
		}
	}
}
