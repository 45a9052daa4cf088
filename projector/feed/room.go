package feed

import (
	"time"

	"callboard/events"
)

// defaultStuckTimeout is how long the feed waits for a partition whose share is full while one of its batches is in
// work. A partition that waits for its turn is waited for longer: all others are as slow.
const defaultStuckTimeout = 3 * time.Second

// deliver puts a message of the feed's consumer into its partition's queue. It returns false when r is not read any
// more.
func (f *SharedFeed) deliver(r *reading, message events.StoredMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	if isClock(message) && !r.stopped {
		f.deliverClock(message)
		f.passed = message.Sequence
		return true
	}

	// Messages stay in the order of the stream, so all partitions wait for the room of one partition.
	for !r.stopped && !f.queueOrSkip(message) {
		f.awaitRoom() // the member may be another one then, or detached
	}

	if r.stopped {
		return false
	}
	f.passed = message.Sequence
	return true
}

// queueOrSkip puts a message into its partition's queue, or skips it. It returns false if it has to wait for room.
func (f *SharedFeed) queueOrSkip(message events.StoredMessage) bool {
	m := f.memberOf(message)
	switch {
	case m == nil || message.Sequence <= m.last:
	case m.behind() || !m.hasRoom(message) && m.stuck():
		m.missed = max(m.missed, message.Sequence)
		f.readMissed(m)
	case m.hasRoom(message):
		m.push(message)
	default:
		return false
	}
	return true
}

// memberOf returns the member that gets a message from the feed's consumer; nil: none.
func (f *SharedFeed) memberOf(message events.StoredMessage) *Member {
	partition, ok := events.SubjectPartition(message.Subject)
	if m := f.members[partition]; ok && m != nil && m.attached {
		return m
	}
	return nil
}

// share returns how many bytes a member may have. A message that is larger is alone.
func (f *SharedFeed) share() int64 { return f.config.Bytes / int64(max(1, len(f.members))) }

// hasRoom tells whether a message fits into the member's share.
func (m *Member) hasRoom(message events.StoredMessage) bool {
	has := m.bytes()
	return has == 0 || has+int64(message.Size()) <= m.feed.share()
}

// stuck tells whether a batch of the member has been in work for long.
func (m *Member) stuck() bool { return m.busy() && time.Since(m.moved) > m.feed.stuckTimeout }

// awaitRoom waits until bytes are given back or a reading is stopped, or for a moment.
func (f *SharedFeed) awaitRoom() {
	look := time.AfterFunc(f.stuckTimeout, f.room.Broadcast)
	defer look.Stop()
	f.room.Wait()
}
