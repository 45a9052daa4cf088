package feed

import (
	"time"

	"callboard/events"
)

// Fail ends all members, as a lost consumer does.
func (f *SharedFeed) Fail(err error) { f.failMembers(err) }

// DeliverMissed delivers a message that was skipped.
func (m *Member) DeliverMissed(message events.StoredMessage) { m.feed.deliverMissed(m, message) }

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
