package feed

import (
	"time"

	"callboard/events"
)

// memoryTimeout is how long the feed waits for room although no bytes are given back. Then the partition with the largest queue is detached.
const memoryTimeout = 3 * time.Second

// defaultOverShareTimeout is how long the feed waits for a partition above its share after the partition has taken or given back something.
// One that works off its queue is faster with the feed than behind it, where its messages are read twice.
const defaultOverShareTimeout = time.Second

// deliver puts a message of the feed's consumer into its partition's queue. It returns false when r is not read any more.
func (f *SharedFeed) deliver(r *reading, message events.StoredMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isClock(message) && !r.stopped {
		f.deliverClock(message)
		f.passed = message.Sequence
		return true
	}
	began := time.Now()
	for size := int64(message.Size()); !r.stopped && !f.queueOrSkip(message, size); {
		f.awaitRoom(began) // the member may be another one then, or detached
	}
	if r.stopped {
		return false
	}
	f.passed = message.Sequence
	return true
}

// queueOrSkip puts a message into its partition's queue, or skips it. It returns false if it has to wait for room.
func (f *SharedFeed) queueOrSkip(message events.StoredMessage, size int64) bool {
	m := f.memberOf(message)
	switch {
	case m == nil || message.Sequence <= m.last:
	case m.behind() || !f.withinShare(m, size) && time.Since(m.moved) > f.overShareTimeout:
		m.missed = max(m.missed, message.Sequence)
		f.readMissed(m)
	case f.withinShare(m, size) && f.fits(size):
		m.push(message, size)
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

// withinShare tells whether a member may have size more bytes. With equal backlogs all members together reach the limit before one of them
// reaches its share.
func (f *SharedFeed) withinShare(m *Member, size int64) bool {
	members := int64(len(f.members))
	has := m.queuedBytes + m.takenBytes
	return members == 1 || has == 0 || has+size <= max(f.config.Bytes/4, 2*f.config.Bytes/(members+1))
}

// fits tells whether there is room. A message that is larger than all the room is alone.
func (f *SharedFeed) fits(size int64) bool { return f.used == 0 || f.used+size <= f.config.Bytes }

// awaitRoom waits until bytes are given back or a reading is stopped, or for a moment. began is when the waiting began.
func (f *SharedFeed) awaitRoom(began time.Time) {
	look := time.AfterFunc(f.overShareTimeout, f.room.Broadcast)
	f.room.Wait()
	look.Stop()
	if min(time.Since(began), time.Since(f.freed)) > memoryTimeout {
		f.dropLargest()
	}
}

// dropLargest throws the largest queue away. Its partition reads the messages again when it needs them.
func (f *SharedFeed) dropLargest() {
	var largest *Member
	for _, m := range f.members {
		if m.queuedBytes > 0 && (largest == nil || m.queuedBytes > largest.queuedBytes) {
			largest = m
		}
	}
	if largest == nil || len(f.members) == 1 {
		return
	}
	largest.missed = max(largest.missed, largest.last)
	largest.last = largest.taken
	f.stop(largest.catchUpReading)
	f.dropQueue(largest)
}

func (f *SharedFeed) dropQueue(m *Member) {
	f.used -= m.queuedBytes
	f.freed = time.Now()
	m.queue, m.queuedBytes = nil, 0
	f.room.Broadcast()
}
