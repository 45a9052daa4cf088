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
		from, more := f.missedBy(m)
		if !more {
			return
		}
		if err := f.readRange(ctx, m, from); err != nil {
			f.mu.Lock()
			f.failMember(m, err)
			m.catching = false
			f.mu.Unlock()
			return
		}
	}
}

// missedBy returns the message after which a member has missed some. Without more, nothing reads them now.
func (f *SharedFeed) missedBy(m *Member) (from uint64, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.catchUpReading = nil
	m.catching = !m.gone && m.behind() && len(m.queue) == 0
	return m.last, m.catching
}

// readRange reads some of the messages that a member has missed. It ends with one that was not missed, perhaps a clock message: a consumer may
// be on a server that has stored less, so only a message proves that none is missing below it.
func (f *SharedFeed) readRange(ctx context.Context, m *Member, from uint64) error {
	r := newReading(nil)
	r.receive = func(message events.StoredMessage) bool { return f.deliverMissed(r, m, message) }
	f.mu.Lock()
	m.catchUpReading, r.stopped = r, m.gone
	f.mu.Unlock()
	defer f.close(r)
	if err := f.open(ctx, r, from+1, []string{events.PartitionFilter(m.partition), events.ClockSubject}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-r.ended:
		return err
	}
}

// deliverMissed puts a message that was skipped into its partition's queue. It returns false after the last one that the member gets by this
// consumer: it is attached again, or its share is full.
func (f *SharedFeed) deliverMissed(r *reading, m *Member, message events.StoredMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.deliveries++
	if isClock(message) && !r.stopped {
		m.pushClock(message)
		return m.behind()
	}
	size := int64(message.Size())
	if !f.withinShare(m, size) {
		return false
	}
	for began := time.Now(); !r.stopped && !f.fits(size); {
		f.awaitRoom(r, began)
	}
	if r.stopped {
		return false
	}
	m.push(message, size)
	return m.behind()
}
