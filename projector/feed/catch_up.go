package feed

import (
	"context"
	"time"

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

// catchUp reads what a member has missed, until it has it all or its share of the room is full.
func (f *SharedFeed) catchUp(ctx context.Context, m *Member) {
	for {
		r := f.missedBy(m)
		if r == nil {
			return
		}
		if err := r.Run(ctx); err != nil {
			f.mu.Lock()
			f.failMember(m, err)
			m.catching = false
			f.mu.Unlock()
			return
		}
	}
}

// missedBy returns a reading of the messages that a member has missed; nil: they are not read now. The reading ends with a message that was not
// missed, perhaps a clock message: a consumer may be on a server that has stored less, so only a message proves that none is missing below it.
func (f *SharedFeed) missedBy(m *Member) *reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.catchUpReading = nil
	if m.catching = !m.gone && m.behind() && len(m.queue) == 0; !m.catching {
		return nil
	}

	r := &reading{Reader: f.reader(m.last, events.PartitionFilter(m.partition), events.ClockSubject)}
	r.Receive = func(message events.StoredMessage) bool { return f.deliverMissed(r, m, message) }
	r.Expects = func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return m.behind()
	}
	m.catchUpReading = r
	return r
}

// deliverMissed puts a message that was skipped into its partition's queue. It returns false after the last one that the member gets by this
// consumer: it is attached again, or its share is full.
func (f *SharedFeed) deliverMissed(r *reading, m *Member, message events.StoredMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isClock(message) && !r.stopped {
		m.pushClock(message)
		return m.behind()
	}
	size := int64(message.Size())
	if !f.withinShare(m, size) {
		return false
	}
	for began := time.Now(); !r.stopped && !f.fits(size); {
		f.awaitRoom(began)
	}
	if r.stopped {
		return false
	}
	m.push(message, size)
	return m.behind()
}
