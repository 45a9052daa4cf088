package feed

import (
	"context"
	"slices"
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
	attached    bool   // it gets messages from the feed's consumer, unless it is behind
	gone        bool   // it has left or failed
	catching    bool   // catchUp runs
	last        uint64 // the last message that was put into the queue; before the first one, the position
	missed      uint64 // the messages between last and this sequence were skipped
	queue       []events.StoredMessage
	queuedBytes int64
	taken       []int64   // bytes of the batches that were taken and are not done, the oldest first
	moved       time.Time // when a batch was taken or done last
}

// Join makes a partition, whose messages up to a position have been applied, a member. Leave must follow.
func (f *SharedFeed) Join(ctx context.Context, partition int, position uint64) *Member {
	ctx, stop := context.WithCancel(ctx)
	m := &Member{
		feed: f, partition: partition, ready: make(chan struct{}, 1), failed: make(chan error, 1), stop: stop, last: position,
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
	m.feed.remove(m)
	m.feed.mu.Unlock()
	m.stop()
	m.running.Wait()
}

// Take returns a batch of the messages that are there, up to a limit; perhaps none. It never waits: batches grow
// with the backlog. Clock messages are in their order, and are not taken alone. Done must follow.
func (m *Member) Take(limit int) []events.StoredMessage { return m.take(limit, false) }

// TakeFull is like Take, and takes nothing unless the batch is as large as it may be.
func (m *Member) TakeFull(limit int) []events.StoredMessage { return m.take(limit, true) }

func (m *Member) take(limit int, full bool) []events.StoredMessage {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()

	n, size := m.available(limit)
	if full && n < limit && n == len(m.queue) {
		return nil
	}

	// The bytes of the batch count until Done gives their room back.
	batch := slices.Clone(m.queue[:n])
	clear(m.queue[:n]) // the queue's memory outlives the messages
	m.queue = m.queue[n:]
	m.queuedBytes -= size
	if n > 0 {
		m.taken = append(m.taken, size)
	}

	// The queue may have other messages that are ready. An empty queue lets the member read what it has missed.
	m.moved = time.Now()
	m.wake()
	m.feed.readMissed(m)
	return batch
}

// available returns how many messages a batch may have, and how many bytes they have together. The queue can be filled
// while half of the share is in work.
func (m *Member) available(limit int) (n int, size int64) {
	if m.onlyClocks() {
		return 0, 0
	}

	// The first message of a batch may be larger than the limit.
	allowed := min(batchBytes, m.feed.share()/2)
	for n < min(limit, len(m.queue)) {
		next := sizeOf(m.queue[n])
		if size > 0 && size+next > allowed {
			break
		}
		size += next
		n++
	}

	return n, size
}

// Done gives back the room of the oldest batch that was taken, if there is one: it is committed or thrown away.
func (m *Member) Done() {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	if m.busy() {
		m.taken = m.taken[1:]
	}
	m.moved = time.Now()
	m.feed.room.Broadcast()
	m.wake()
}

// busy tells whether messages were taken and are not done.
func (m *Member) busy() bool { return len(m.taken) > 0 }

// bytes returns how many bytes wait or are in work.
func (m *Member) bytes() int64 {
	sum := m.queuedBytes
	for _, size := range m.taken {
		sum += size
	}
	return sum
}

// behind tells whether messages that the member lacks were skipped.
func (m *Member) behind() bool { return m.missed > m.last }

// push puts a message into the queue.
func (m *Member) push(message events.StoredMessage) {
	m.queue = append(m.queue, message)
	m.last = message.Sequence
	m.queuedBytes += sizeOf(message)
	m.wake()
}

// sizeOf returns how many bytes of its share a message takes. Clock messages take none: there is one for each message
// of a queue at most.
func sizeOf(m events.StoredMessage) int64 {
	if isClock(m) {
		return 0
	}
	return int64(m.Size())
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
