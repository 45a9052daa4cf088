package feed

import (
	"context"

	"callboard/events"
)

// readMissed begins to read the messages that a member has missed, once its queue is empty.
func (f *SharedFeed) readMissed(m *Member) {
	if m.gone || m.catching || !m.attached || !m.behind() || len(m.queue) > 0 {
		return
	}
	m.catching = true
	m.running.Go(m.catchUp)
}

// catchUp reads what a member has missed, until it has it all or is stuck.
func (f *SharedFeed) catchUp(ctx context.Context, m *Member) {
	for {
		// The decision and the flag change together: a message that is skipped after this starts another goroutine.
		f.mu.Lock()
		m.catching = !m.gone && m.behind() && len(m.queue) == 0
		catching, after := m.catching, m.last
		f.mu.Unlock()
		if !catching {
			return
		}

		// It ends with a message that was not missed, perhaps a clock message: a consumer may be on a server that has
		// stored less, so only a message proves that none is missing below it.
		reader := f.reader(after, events.PartitionFilter(m.partition), events.ClockSubject)
		reader.Receive = func(message events.StoredMessage) bool { return f.deliverMissed(m, message) }
		reader.Expects = func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return m.behind()
		}

		if err := reader.Run(ctx); err != nil {
			f.mu.Lock()
			f.failMember(m, err)
			m.catching = false
			f.mu.Unlock()
			return
		}
	}
}

// deliverMissed puts a message that was skipped into its partition's queue. It returns false after the last one that
// the member gets by this consumer: it is attached again, or it is stuck.
func (f *SharedFeed) deliverMissed(m *Member, message events.StoredMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	// A message waits for room in the share of its member. Clock messages need no room.
	for !m.gone && !isClock(message) && !m.hasRoom(message) {
		if m.stuck() {
			return false
		}
		f.awaitRoom()
	}

	// The messages before this one may have been thrown away with the queue.
	if m.gone {
		return false
	}

	if isClock(message) {
		m.pushClock(message)
	} else {
		m.push(message)
	}
	return m.behind()
}
