package feed

import "time"

// SetSharePatience sets how long the feed waits for a partition above its share that takes and gives back nothing.
func (f *Shared) SetSharePatience(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.overShareTimeout = d
}
