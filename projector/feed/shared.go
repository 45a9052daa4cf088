package feed

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

const (
	// maxRewind is how many messages a partition may be behind another one when a feed starts, so that the other one
	// waits for it.
	maxRewind = 100_000
	// joinDelay is the time without another join after which the feed starts, because many partitions join at once.
	// maxJoinDelay limits the wait.
	joinDelay    = 50 * time.Millisecond
	maxJoinDelay = time.Second
)

// Config configures a [SharedFeed].
type Config struct {
	Conn       *nats.Conn
	Stream     jetstream.Stream
	Partitions int           // of the stream
	Bytes      int64         // the most in all queues together, and in what was taken from them. Each member has an equal share
	Stall      time.Duration // as in [Reader]
}

// SharedFeed reads the partitions of its members by one consumer.
type SharedFeed struct {
	config       Config
	stuckTimeout time.Duration
	changed      chan struct{} // a partition has joined, or all have left

	mu       sync.Mutex
	room     *sync.Cond // bytes were given back, or a reading was stopped
	members  map[int]*Member
	read     map[int]struct{} // partitions that have ever joined: the consumer's filter
	filtered int              // how many of them the consumer reads
	passed   uint64           // every message up to this sequence was put into its queue, or skipped
	expected uint64           // the last message that the stream is known to have

	clocks    chan struct{} // see Clocks
	lastClock uint64        // the last clock message that was delivered
	clockAt   time.Time     // when it was
}

// reading is a reader whose messages go into queues.
type reading struct {
	Reader
	stopped bool       // guarded by [SharedFeed.mu]: nothing may be delivered any more
	ended   chan error // gets the result, and is closed
	cancel  context.CancelFunc
}

// NewSharedFeed returns a feed without members. Run must run.
func NewSharedFeed(config Config) *SharedFeed {
	f := &SharedFeed{
		config: config, stuckTimeout: defaultStuckTimeout, changed: make(chan struct{}, 1), clocks: make(chan struct{}, 1),
		members: make(map[int]*Member), read: make(map[int]struct{}),
	}
	f.room = sync.NewCond(&f.mu)
	return f
}

// Run reads until ctx ends. An error of the consumer ends all members: they join again.
func (f *SharedFeed) Run(ctx context.Context) {
	var open *reading
	defer func() { f.close(open) }()
	for {
		// Without a reading, the channel is nil and never ready.
		var ended chan error
		if open != nil {
			ended = open.ended
		}

		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			f.failMembers(err)
			f.close(open)
			open = nil
		case <-f.changed:
			if !f.awaitJoins(ctx) {
				return
			}
		}

		open = f.attachWaiting(ctx, open)
	}
}

// awaitJoins returns when no partition has joined for a moment, and false when ctx has ended.
func (f *SharedFeed) awaitJoins(ctx context.Context) bool {
	silent, limit := time.NewTimer(joinDelay), time.NewTimer(maxJoinDelay)
	defer silent.Stop()
	defer limit.Stop()

	for {
		select {
		case <-ctx.Done():
			return false
		case <-silent.C:
			return true
		case <-limit.C:
			return true

		// Each join makes the feed wait again, up to the limit.
		case <-f.changed:
			silent.Reset(joinDelay)
		}
	}
}

// attachWaiting attaches the waiting members. It returns the reading for all members: the open one, or another one
// where that does not read what they need. Without members there is none.
func (f *SharedFeed) attachWaiting(ctx context.Context, open *reading) *reading {
	f.mu.Lock()
	next := f.chooseReading(open)
	f.mu.Unlock()
	if next == open {
		return open
	}

	f.close(open)
	if next != nil {
		ctx, next.cancel = context.WithCancel(ctx)
		go func() {
			next.ended <- next.Run(ctx)
			close(next.ended)
		}()
	}

	return next
}

// chooseReading decides where the waiting members get their messages.
func (f *SharedFeed) chooseReading(open *reading) *reading {
	if len(f.members) == 0 {
		f.passed = 0
		return nil
	}

	// The open reading continues if it delivers everything that the members need.
	start := f.start()
	if open != nil && start >= f.passed && f.filtered == len(f.read) {
		f.attach()
		return open
	}

	f.stop(open)
	f.passed, f.filtered = start, len(f.read)
	f.attach()

	// A consumer of all partitions needs no filter.
	var filters []string
	if f.filtered < f.config.Partitions {
		filters = append(filters, events.ClockSubject)
		for partition := range f.read {
			filters = append(filters, events.PartitionFilter(partition))
		}
	}

	r := &reading{Reader: f.reader(start, filters...), ended: make(chan error, 1)}
	r.Receive = func(m events.StoredMessage) bool { return f.deliver(r, m) }
	r.Expects = func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.expected > f.passed
	}
	return r
}

// reader returns a reader of the stream that has no functions yet.
func (f *SharedFeed) reader(after uint64, filters ...string) Reader {
	return Reader{Conn: f.config.Conn, Stream: f.config.Stream, Stall: f.config.Stall, After: after, Filters: filters}
}

// start returns the sequence after which the feed is to read. A feed that nobody follows begins at the lowest last
// message of a waiting member. Members that are far behind do not count: they read what they miss by themselves, and so
// does any member that joins later.
func (f *SharedFeed) start() uint64 {
	var waiting []uint64 // the last messages of these members
	for _, m := range f.members {
		if m.attached && !m.behind() {
			return f.passed
		}
		if !m.attached {
			waiting = append(waiting, m.last)
		}
	}

	if len(waiting) == 0 {
		return f.passed
	}

	start := slices.Max(waiting)
	top := start
	for _, last := range waiting {
		if last+maxRewind >= top {
			start = min(start, last)
		}
	}
	return start
}

// attach makes the waiting members get their messages from the consumer. What it has passed already, they read for
// themselves.
func (f *SharedFeed) attach() {
	for _, m := range f.members {
		if !m.attached || m.behind() {
			m.missed = max(m.missed, f.passed)
		}
		m.attached = true
		f.readMissed(m)
	}
}

// Used returns how many bytes of messages are in memory.
func (f *SharedFeed) Used() (bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		bytes += m.bytes()
	}
	return bytes
}

// failMembers ends all members.
func (f *SharedFeed) failMembers(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		f.failMember(m, err)
	}
}

func (f *SharedFeed) failMember(m *Member, err error) {
	f.remove(m)
	select {
	case m.failed <- err:
	default: // it has failed already
	}
}

// remove takes a member off the feed, and throws its queue away.
func (f *SharedFeed) remove(m *Member) {
	if f.members[m.partition] != m {
		return
	}
	delete(f.members, m.partition)
	m.gone = true
	m.queue, m.queuedBytes, m.taken = nil, 0, nil
	f.room.Broadcast()
	if len(f.members) == 0 {
		f.signal()
	}
}

// stop makes a reading deliver nothing any more.
func (f *SharedFeed) stop(r *reading) {
	if r != nil {
		r.stopped = true
		f.room.Broadcast()
	}
}

// close returns once the reading of all partitions delivers nothing any more.
func (f *SharedFeed) close(r *reading) {
	if r == nil {
		return
	}
	f.mu.Lock()
	f.stop(r)
	f.mu.Unlock()
	r.cancel()
	for range r.ended {
	}
}

func (f *SharedFeed) signal() {
	select {
	case f.changed <- struct{}{}:
	default: // Run knows already
	}
}
