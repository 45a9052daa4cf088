package feed

import "time"

// SetOverShareTimeout sets how long the feed waits for a partition above its share that takes and gives back nothing.
func (f *SharedFeed) SetOverShareTimeout(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.overShareTimeout = d
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
