package feed

import "time"

// SetStuckTimeout sets how long the feed waits for a partition whose share is full.
func (f *SharedFeed) SetStuckTimeout(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stuckTimeout = d
}

// Received tells whether the partition's consumer has delivered all messages up to a sequence.
func (m *Member) Received(sequence uint64) bool {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	if m.behind() {
		return m.last >= sequence
	}
	return m.feed.passed >= sequence
}
