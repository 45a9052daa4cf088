package feed

import (
	"context"
	"sync"
	"time"

	"callboard/events"
)

// Member gets the messages of one partition. Its methods are for one goroutine, apart from the ones that say otherwise.
type Member struct {
	// Ready gets a value when there may be messages to take.
	Ready <-chan struct{}
	// Failed gets the reason why no more messages come.
	Failed <-chan error

	feed      *SharedFeed
	partition int
	ready     chan struct{}
	failed    chan error
	catchUp   func()
	stop      context.CancelFunc // of catchUp
	running   sync.WaitGroup     // catchUp

	// Guarded by the feed's mutex.
	attached       bool   // it gets messages from the feed's consumer, unless it is behind
	gone           bool   // it has left or failed
	last           uint64 // the last message that was put into the queue; before the first one, the position
	taken          uint64 // the last message that was taken; before the first one, the position
	missed         uint64 // the messages between last and this sequence were skipped
	queue          []queued
	queuedBytes    int64     // bytes
	batches        []int64   // bytes of each batch that was taken and is not done, the oldest first
	takenBytes     int64     // the sum of batches
	moved          time.Time // when messages were taken or done last, or came into an empty queue
	catchUpReading *reading  // of missed messages; nil: none
	catching       bool      // catchUp runs
}

// queued is a message that waits.
type queued struct {
	events.StoredMessage
	size int64 // in bytes, as it counts
}

// Join makes a partition, whose messages up to a position have been applied, a member. Leave must follow.
func (f *SharedFeed) Join(ctx context.Context, partition int, position uint64) *Member {
	ctx, stop := context.WithCancel(ctx)
	m := &Member{
		feed: f, partition: partition, ready: make(chan struct{}, 1), failed: make(chan error, 1), stop: stop,
		last: position, taken: position,
	}
	m.Ready, m.Failed = m.ready, m.failed
	m.catchUp = func() { f.catchUp(ctx, m) }
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[partition] = m
	f.read[partition] = struct{}{}
	f.signal()
	return m
}

// Leave takes the partition off the feed. Its messages are thrown away.
func (m *Member) Leave() {
	m.feed.mu.Lock()
	m.done(len(m.batches))
	m.feed.remove(m)
	m.feed.mu.Unlock()
	m.stop()
	m.running.Wait()
}

// Take returns a batch of the messages that are there, up to a limit; perhaps none. It never waits: batches grow with the backlog. Clock
// messages are in their order, and are not taken alone. Done must follow for each batch that has messages.
func (m *Member) Take(limit int) []events.StoredMessage { return m.take(limit, false) }

// TakeFull is like Take, and takes nothing unless the batch is as large as it may be.
func (m *Member) TakeFull(limit int) []events.StoredMessage { return m.take(limit, true) }

// available returns how many messages a batch may have, and how many bytes they have together.
func (m *Member) available(limit int) (n int, size int64) {
	if m.onlyClocks() {
		return 0, 0
	}
	allowed := m.batchBytes()
	for n < min(limit, len(m.queue)) && (n == 0 || size+m.queue[n].size <= allowed) {
		size += m.queue[n].size
		n++
	}
	return n, size
}

// batchBytes limits a batch.
func (m *Member) batchBytes() int64 {
	return min(batchBytes, m.feed.config.Bytes/int64(max(1, len(m.feed.members))))
}

// take takes a batch. A full one has as many messages as it may have.
func (m *Member) take(limit int, full bool) []events.StoredMessage {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	if full && len(m.queue) < limit && m.queuedBytes <= m.batchBytes() {
		return nil
	}
	n, size := m.available(limit)
	batch := make([]events.StoredMessage, n)
	for i, q := range m.queue[:n] {
		batch[i] = q.StoredMessage
	}
	clear(m.queue[:n]) // the queue's memory outlives the messages
	m.queue = m.queue[n:]
	m.queuedBytes -= size
	if n > 0 {
		m.taken = batch[n-1].Sequence
		m.batches, m.takenBytes = append(m.batches, size), m.takenBytes+size
	}
	m.moved = time.Now()
	m.wake()
	m.feed.readMissed(m)
	return batch
}

// Done gives back the room of the oldest batch that was taken, if there is one: it is committed or thrown away.
func (m *Member) Done() {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	m.done(min(1, len(m.batches)))
}

// done gives back the room of the oldest batches.
func (m *Member) done(count int) {
	for _, size := range m.batches[:count] {
		m.takenBytes -= size
		m.feed.used -= size
		m.moved = time.Now()
		m.feed.freed = m.moved
	}
	m.batches = m.batches[count:]
	m.feed.room.Broadcast()
	m.wake()
}

// busy tells whether messages were taken and are not done.
func (m *Member) busy() bool { return len(m.batches) > 0 }

// Fail makes the partition, and those that read by the same consumer, fail. It may be called from any goroutine.
func (m *Member) Fail(err error) {
	f := m.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case m.gone:
	case m.attached && !m.behind():
		f.failMembers(err)
	default:
		f.failMember(m, err)
	}
}

// Progress returns how many messages the partition's consumer has delivered, and whether more would be received: it is open and does not wait
// for room. It may be called from any goroutine.
func (m *Member) Progress() (deliveries uint64, receiving bool) {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	r := m.feed.current
	if m.behind() {
		r = m.catchUpReading
	}
	if !m.attached || m.gone || r == nil {
		return 0, false
	}
	return r.deliveries, r.opened && !r.waits
}

// Received tells whether all messages up to a sequence are in the queue or were taken. What the feed has passed is not in
// the queue of a member that has failed, or that waits to be attached. It may be called from any goroutine.
func (m *Member) Received(sequence uint64) bool {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	switch {
	case m.gone || !m.attached:
		return false
	case m.behind():
		return m.last >= sequence
	}
	return m.feed.passed >= sequence
}

// behind tells whether messages that the member lacks were skipped.
func (m *Member) behind() bool { return m.missed > m.last }

// push puts a message into the queue.
func (m *Member) push(message events.StoredMessage, size int64) {
	if len(m.queue) == 0 && !m.busy() {
		m.moved = time.Now()
	}
	m.queue = append(m.queue, queued{message, size})
	m.last = message.Sequence
	m.queuedBytes += size
	m.feed.used += size
	m.wake()
}

// wake makes the member look at its queue, or the user of Clocks where it has only clock messages.
func (m *Member) wake() {
	to := m.ready
	switch {
	case m.atClock():
		to = m.feed.clocks
	case m.onlyClocks():
		return
	}
	select {
	case to <- struct{}{}:
	default: // it will look
	}
}
