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
	// maxRewind is how many messages a partition may be behind the feed so that the feed starts again for it: the other partitions wait
	// meanwhile.
	maxRewind = 10_000
	// maxRewindAtStart is the same where no other partition waits.
	maxRewindAtStart = 100_000
	// joinDelay is the time without another join after which the feed starts, because many partitions join at once. maxJoinDelay limits the
	// wait.
	joinDelay    = 50 * time.Millisecond
	maxJoinDelay = time.Second
)

// Config configures a [SharedFeed].
type Config struct {
	Conn       *nats.Conn
	Stream     jetstream.Stream
	Partitions int   // of the stream
	Bytes      int64 // the most in all queues together, and in what was taken from them; one message may exceed it alone
}

// SharedFeed reads the partitions of its members by one consumer.
type SharedFeed struct {
	config           Config
	overShareTimeout time.Duration
	changed          chan struct{} // a partition has joined, or the consumer is to be closed

	mu       sync.Mutex
	room     *sync.Cond // bytes were given back, or a reading was stopped
	used     int64      // bytes
	freed    time.Time  // when bytes were given back last
	members  map[int]*Member
	read     map[int]struct{} // partitions that have ever joined: the consumer's filter
	filtered int              // how many of them the consumer reads
	current  *reading         // nil: none
	passed   uint64           // every message up to this sequence was put into its queue, or skipped

	clocks    chan struct{} // see Clocks
	lastClock uint64        // the last clock message that was delivered
	clockAt   time.Time     // when it was
}

// NewSharedFeed returns a feed without members. Run must run.
func NewSharedFeed(config Config) *SharedFeed {
	f := &SharedFeed{
		config: config, overShareTimeout: defaultOverShareTimeout, changed: make(chan struct{}, 1), clocks: make(chan struct{}, 1),
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
		var ended chan error
		if open != nil {
			ended = open.ended
		}
		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			f.failAll(open, err)
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
		case <-f.changed:
			silent.Reset(joinDelay)
		}
	}
}

// attachWaiting attaches the waiting members. It closes the consumer and opens another one where that is necessary.
func (f *SharedFeed) attachWaiting(ctx context.Context, open *reading) *reading {
	r, from, filters := f.chooseReading(open)
	if r == open {
		return open
	}
	f.close(open)
	if r == nil {
		return nil
	}
	if err := f.open(ctx, r, from, filters); err != nil {
		f.failAll(r, err)
		f.close(r)
		return nil
	}
	return r
}

// chooseReading decides where the waiting members get their messages. It returns the reading for them, which is to be opened unless it is
// open: nil without members.
func (f *SharedFeed) chooseReading(open *reading) (r *reading, from uint64, filters []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.members) == 0 {
		f.stop(f.current)
		f.current, f.passed = nil, 0
		return nil, 0, nil
	}
	start := f.start()
	if f.current != nil && f.current == open && start >= f.passed && f.filtered == len(f.read) {
		f.attach()
		return open, 0, nil
	}
	f.stop(f.current)
	f.passed, f.filtered = start, len(f.read)
	f.attach()
	f.current = newReading(func(m events.StoredMessage) bool { return f.deliver(r, m) })
	if f.filtered < f.config.Partitions {
		filters = append(filters, events.ClockSubject)
		for partition := range f.read {
			filters = append(filters, events.PartitionFilter(partition))
		}
	}
	r = f.current
	return r, start + 1, filters
}

// start returns the sequence after which the feed is to read: the lowest last message of a waiting member. Members that lack more messages
// than the feed may read again do not count.
func (f *SharedFeed) start() uint64 {
	top, distance := f.passed, uint64(maxRewind)
	if waiting := f.waiting(); !f.followed() && len(waiting) > 0 {
		top, distance = slices.Max(waiting), maxRewindAtStart
	}
	start := top
	for _, last := range f.waiting() {
		if last+distance >= top {
			start = min(start, last)
		}
	}
	return start
}

// waiting returns the last messages of the members that wait to be attached.
func (f *SharedFeed) waiting() (last []uint64) {
	for _, m := range f.members {
		if !m.attached {
			last = append(last, m.last)
		}
	}
	return last
}

// followed tells whether a member gets its messages from the consumer.
func (f *SharedFeed) followed() bool {
	for _, m := range f.members {
		if m.attached && !m.behind() {
			return true
		}
	}
	return false
}

// attach makes the waiting members get their messages from the consumer. What it has passed already, they read for themselves.
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
func (f *SharedFeed) Used() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used
}

// failAll ends all members, if r is still their reading.
func (f *SharedFeed) failAll(r *reading, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r == f.current {
		f.failMembers(err)
	}
}

func (f *SharedFeed) failMembers(err error) {
	for _, m := range f.members {
		f.failMember(m, err)
	}
	f.stop(f.current)
	f.current, f.passed = nil, 0
	f.signal()
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
	f.dropQueue(m)
	f.stop(m.catchUpReading)
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

// open opens a reading.
func (f *SharedFeed) open(ctx context.Context, r *reading, from uint64, filters []string) error {
	if err := r.open(ctx, f.config, from, filters); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.opened = true
	return nil
}

// close stops and closes a reading.
func (f *SharedFeed) close(r *reading) {
	if r == nil {
		return
	}
	f.mu.Lock()
	f.stop(r)
	f.mu.Unlock()
	r.close(f.config)
}

func (f *SharedFeed) signal() {
	select {
	case f.changed <- struct{}{}:
	default: // Run knows already
	}
}
