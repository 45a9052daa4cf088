package feed

import "time"

// SetOverShareTimeout sets how long the feed waits for a partition above its share that takes and gives back nothing.
func (f *SharedFeed) SetOverShareTimeout(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.overShareTimeout = d
}
