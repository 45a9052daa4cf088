package feed

import (
	"slices"
	"time"

	"callboard/events"
)

// Clock is what the clock messages at the end of a partition's queue say: every message of the partition up to Sequence
// is done, and every event that the stream acknowledged before it was asked to store the clock message is at or below
// Sequence.
type Clock struct {
	Sequence uint64      // of the last clock message
	StoredAt events.Time // of the last clock message
	Latest   events.Time // the latest time at which the stream stored any of them: its clock can step back
}

// Clocks gets a value when there may be a member whose Clock can be taken.
func (f *SharedFeed) Clocks() <-chan struct{} { return f.clocks }

// LastClock returns the sequence of the last clock message that was delivered, and when it was; 0: none.
func (f *SharedFeed) LastClock() (sequence uint64, deliveredAt time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastClock, f.clockAt
}

// Passed returns the sequence up to which every message was put into its queue, or skipped.
func (f *SharedFeed) Passed() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.passed
}

// Expect says that the stream has stored the message with a sequence. A feed to which it does not come fails.
func (f *SharedFeed) Expect(sequence uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = sequence
}

// deliverClock puts a clock message into the queues of all members that get their messages from the feed's consumer. It
// needs no room.
func (f *SharedFeed) deliverClock(message events.StoredMessage) {
	f.lastClock, f.clockAt = message.Sequence, time.Now()
	for _, m := range f.members {
		switch {
		case !m.attached || message.Sequence <= m.last:
		case m.behind():
			m.missed = max(m.missed, message.Sequence)
			f.readMissed(m)
		default:
			m.pushClock(message)
		}
	}
}

func isClock(m events.StoredMessage) bool { return m.Subject == events.ClockSubject }

// pushClock puts a clock message into the queue. It replaces the clock message before it, unless that one was stored
// later.
func (m *Member) pushClock(message events.StoredMessage) {
	if n := len(m.queue); n > 0 && isClock(m.queue[n-1]) && !m.queue[n-1].StoredAt.After(message.StoredAt) {
		m.queue = m.queue[:n-1]
	}
	m.push(message)
}

// atClock tells whether nothing but clock messages waits, and nothing is taken.
func (m *Member) atClock() bool { return len(m.queue) > 0 && m.onlyClocks() && !m.busy() }

// onlyClocks tells whether no other messages wait.
func (m *Member) onlyClocks() bool {
	return !slices.ContainsFunc(m.queue, func(q events.StoredMessage) bool { return !isClock(q) })
}

// Clock returns the clock messages of a partition that has nothing else to do. It may be called from any goroutine.
func (m *Member) Clock() (c Clock, ok bool) {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	if m.gone || !m.atClock() {
		return c, false
	}
	for _, q := range m.queue {
		c.Sequence, c.StoredAt = q.Sequence, events.TimeOf(q.StoredAt)
		c.Latest = max(c.Latest, c.StoredAt)
	}
	return c, true
}

// DropClock removes the clock messages that Clock has returned, unless they were taken with a batch. It may be called
// from any goroutine.
func (m *Member) DropClock(c Clock) {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	n := 0
	for n < len(m.queue) && isClock(m.queue[n]) && m.queue[n].Sequence <= c.Sequence {
		n++
	}
	clear(m.queue[:n])
	m.queue = m.queue[n:]
	m.feed.readMissed(m)
}
