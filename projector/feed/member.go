package feed

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Member gets the messages of one partition. Its methods are for one goroutine, apart from the ones that say otherwise.
type Member struct {
	// Ready gets a value when there may be messages to take.
	Ready <-chan struct{}
	// Failed gets the reason why no more messages come.
	Failed <-chan error

	feed      *Shared
	partition int
	ready     chan struct{}
	failed    chan error
	catchUp   func()
	stop      context.CancelFunc // of catchUp
	running   sync.WaitGroup     // catchUp

	// Guarded by the feed's mutex.
	placed   bool   // it gets messages from the feed's consumer, unless it is behind
	gone     bool   // it has left or failed
	last     uint64 // the last message that was put into the queue; before the first one, the position
	taken    uint64 // the last message that was taken; before the first one, the position
	missed   uint64 // the messages between last and this sequence were passed by
	queue    []queued
	queued   int64     // bytes
	inHand   int64     // bytes that were taken and are not done
	busy     bool      // messages were taken and are not done
	moved    time.Time // when messages were taken or done last, or came into an empty queue
	own      *reading  // of missed messages; nil: none
	catching bool      // catchUp runs
}

// queued is a message that waits.
type queued struct {
	jetstream.Msg
	sequence uint64
	size     int64
}

// sizeOf returns how many bytes of a message count.
func sizeOf(m jetstream.Msg) int64 {
	size := len(m.Subject()) + len(m.Data())
	for key, values := range m.Headers() {
		for _, value := range values {
			size += len(key) + len(value)
		}
	}
	return int64(size)
}

// Join makes a partition, whose messages up to a position have been applied, a member. Leave must follow.
func (f *Shared) Join(ctx context.Context, partition int, position uint64) *Member {
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

// Take returns the messages that are there, up to a limit; perhaps none. It never waits: batches grow with the backlog. Done must follow.
func (m *Member) Take(limit int) []jetstream.Msg {
	f := m.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	allowed := min(batchBytes, f.config.Bytes/int64(max(1, len(f.members))))
	n, size := 0, int64(0)
	for n < min(limit, len(m.queue)) && (n == 0 || size+m.queue[n].size <= allowed) {
		size += m.queue[n].size
		n++
	}
	batch := make([]jetstream.Msg, n)
	for i, q := range m.queue[:n] {
		batch[i], m.taken = q.Msg, q.sequence
	}
	clear(m.queue[:n]) // the queue's memory outlives the messages
	m.queue = m.queue[n:]
	m.queued -= size
	m.inHand, m.busy = m.inHand+size, n > 0
	m.moved = time.Now()
	m.wake()
	f.readMissed(m)
	return batch
}

// Done gives back the room of the messages that were taken: they are committed or thrown away.
func (m *Member) Done() {
	f := m.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.inHand > 0 {
		f.used -= m.inHand
		m.moved = time.Now()
		f.freed = m.moved
	}
	m.inHand, m.busy = 0, false
	f.room.Broadcast()
}

// Fail makes the partition, and those that read by the same consumer, fail. It may be called from any goroutine.
func (m *Member) Fail(err error) {
	f := m.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case m.gone:
	case m.placed && !m.behind():
		f.failMembers(err)
	default:
		f.failMember(m, err)
	}
}

// Idle tells whether no message waits or is taken. It may be called from any goroutine.
func (m *Member) Idle() bool {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	return len(m.queue) == 0 && !m.busy
}

// Complete tells whether all messages of the partition up to a sequence were taken and are done. It may be called from any goroutine.
func (m *Member) Complete(sequence uint64) bool {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	return m.placed && !m.gone && !m.behind() && len(m.queue) == 0 && !m.busy && m.feed.passed >= sequence
}

// Progress returns how many messages the partition's consumer has delivered, and whether more would be received: it is open and does not wait
// for room. It may be called from any goroutine.
func (m *Member) Progress() (deliveries uint64, receiving bool) {
	m.feed.mu.Lock()
	defer m.feed.mu.Unlock()
	r := m.feed.current
	if m.behind() {
		r = m.own
	}
	if !m.placed || m.gone || r == nil {
		return 0, false
	}
	return r.deliveries, r.opened && !r.waits
}

// behind tells whether messages that the member lacks were passed by.
func (m *Member) behind() bool { return m.missed > m.last }

// push puts a message into the queue.
func (m *Member) push(message jetstream.Msg, sequence uint64, size int64) {
	if len(m.queue) == 0 && !m.busy {
		m.moved = time.Now()
	}
	m.queue = append(m.queue, queued{message, sequence, size})
	m.last = sequence
	m.queued += size
	m.feed.used += size
	m.wake()
}

// wake makes the member look at its queue.
func (m *Member) wake() {
	if len(m.queue) == 0 {
		return
	}
	select {
	case m.ready <- struct{}{}:
	default: // it will look
	}
}
