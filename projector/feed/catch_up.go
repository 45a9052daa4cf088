package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// readMissed begins to read the messages that a member has missed, once its queue is empty.
func (f *Shared) readMissed(m *Member) {
	if m.gone || m.catching || !m.placed || !m.behind() || len(m.queue) > 0 {
		return
	}
	m.catching = true
	m.running.Go(m.catchUp)
}

// catchUp reads what a member has missed, until it has it all or its share of the room is full.
func (f *Shared) catchUp(ctx context.Context, m *Member) {
	for {
		from, missed, more := f.missedBy(m)
		if !more {
			return
		}
		if err := f.readRange(ctx, m, from, missed); err != nil {
			f.mu.Lock()
			f.failMember(m, err)
			m.catching = false
			f.mu.Unlock()
			return
		}
	}
}

// missedBy returns the range of messages that a member has missed. Without more, nothing reads them now.
func (f *Shared) missedBy(m *Member) (from, missed uint64, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.own = nil
	m.catching = !m.gone && m.behind() && len(m.queue) == 0
	return m.last, m.missed, m.catching
}

// readRange reads some of the messages that a member has missed. Only the stream's leader knows that there is none: a consumer may be on a server
// that has stored less.
func (f *Shared) readRange(ctx context.Context, m *Member, from, missed uint64) error {
	next, err := f.nextMessage(ctx, m.partition, from+1)
	if err != nil {
		return err
	}
	r := newReading(nil)
	f.mu.Lock()
	if next == 0 || next > missed {
		m.last = max(m.last, missed)
		f.mu.Unlock()
		return nil
	}
	r.receive = func(message jetstream.Msg, meta *jetstream.MsgMetadata) bool {
		return f.deliverMissed(r, m, message, meta)
	}
	m.own, r.stopped = r, m.gone
	f.mu.Unlock()
	defer f.close(r)
	if err := f.open(ctx, r, next, []string{events.PartitionFilter(m.partition)}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-r.ended:
		return err
	}
}

// nextMessage returns the sequence of a partition's first message from a sequence on; 0: there is none.
func (f *Shared) nextMessage(ctx context.Context, partition int, from uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := f.config.Stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(events.PartitionFilter(partition)))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("next message: %w", err)
	}
	return m.Sequence, nil
}

// deliverMissed puts a message that was passed by into its partition's queue. It returns false after the last one that the member gets by this
// consumer: it is back in its place, its share is full, or there seem to be no more.
func (f *Shared) deliverMissed(r *reading, m *Member, message jetstream.Msg, meta *jetstream.MsgMetadata) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.deliveries++
	size := sizeOf(message)
	if !f.withinShare(m, size) {
		return false
	}
	for began := time.Now(); !r.stopped && !f.fits(size); {
		f.awaitRoom(r, began)
	}
	if r.stopped {
		return false
	}
	m.push(message, meta.Sequence.Stream, size)
	return m.behind() && meta.NumPending > 0
}
