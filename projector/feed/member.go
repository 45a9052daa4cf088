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
	attached       bool   // it gets messages from the feed's consumer, unless it is behind
	gone           bool   // it has left or failed
	last           uint64 // the last message that was put into the queue; before the first one, the position
	taken          uint64 // the last message that was taken; before the first one, the position
	missed         uint64 // the messages between last and this sequence were skipped
	queue          []queued
	queuedBytes    int64     // bytes
	takenBytes     int64     // of the batch that was taken and is not done
	moved          time.Time // when messages were taken or done last, or came into an empty queue
	catchUpReading *reading  // of missed messages; nil: none
	catching       bool      // catchUp runs
}

// queued is a message that waits. Its headers would be a dozen pieces of memory, which the garbage collector would look at again and again
// while the queue is long. So they are packed into one piece without pointers.
type queued struct {
	packed   []byte
	sequence uint64
	storedAt time.Time
	clock    bool  // a clock message
	size     int64 // in bytes, as it counts
}

// packOverhead is about what a packed message has beside its texts and its body.
const packOverhead = 64

func pack(m events.StoredMessage, size int64) queued {
	packed := m.AppendTo(make([]byte, 0, m.Size()+packOverhead))
	return queued{packed: packed, sequence: m.Sequence, storedAt: m.StoredAt, clock: isClock(m), size: size}
}

func unpack(batch []queued) []events.StoredMessage {
	messages := make([]events.StoredMessage, len(batch))
	for i, q := range batch {
		m, _ := events.ParseMessage(q.packed) // it is what AppendTo has appended
		messages[i] = events.StoredMessage{Message: m, Sequence: q.sequence, StoredAt: q.storedAt}
	}
	return messages
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
	m.Done()
	m.feed.mu.Lock()
	m.feed.remove(m)
	m.feed.mu.Unlock()
	m.stop()
	m.running.Wait()
}

// Take returns a batch of the messages that are there, up to a limit; perhaps none. It never waits: batches grow with the backlog. Clock
// messages are in their order, and are not taken alone. Done must follow before the next batch is taken.
func (m *Member) Take(limit int) []events.StoredMessage { return unpack(m.take(limit)) }

func (m *Member) take(limit int) []queued {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	n, size := m.available(limit)
	batch := slices.Clone(m.queue[:n])
	clear(m.queue[:n]) // the queue's memory outlives the messages
	m.queue = m.queue[n:]
	m.queuedBytes -= size
	if n > 0 {
		m.taken = batch[n-1].sequence
		m.takenBytes += size
	}
	m.moved = time.Now()
	m.wake()
	m.feed.readMissed(m)
	return batch
}

// available returns how many messages a batch may have, and how many bytes they have together.
func (m *Member) available(limit int) (n int, size int64) {
	if m.onlyClocks() {
		return 0, 0
	}
	allowed := min(batchBytes, m.feed.config.Bytes/int64(max(1, len(m.feed.members))))
	for n < min(limit, len(m.queue)) && (n == 0 || size+m.queue[n].size <= allowed) {
		size += m.queue[n].size
		n++
	}
	return n, size
}

// Done gives back the room of the batch that was taken, if there is one: it is committed or thrown away.
func (m *Member) Done() {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	if !m.busy() {
		return
	}
	m.feed.used -= m.takenBytes
	m.takenBytes = 0
	m.moved = time.Now()
	m.feed.freed = m.moved
	m.feed.room.Broadcast()
	m.wake()
}

// busy tells whether messages were taken and are not done.
func (m *Member) busy() bool { return m.takenBytes > 0 }

// behind tells whether messages that the member lacks were skipped.
func (m *Member) behind() bool { return m.missed > m.last }

// push puts a message into the queue.
func (m *Member) push(message events.StoredMessage, size int64) {
	if len(m.queue) == 0 && !m.busy() {
		m.moved = time.Now()
	}
	m.queue = append(m.queue, pack(message, size))
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
