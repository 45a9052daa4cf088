package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/projector/feed"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// feedBytes limits the messages in memory, of all partitions.
const feedBytes = 64 << 20

// maxUnreadable limits the messages that are listed. All are counted.
const maxUnreadable = 1000

// crew fills the tables of a generation: a worker for each partition takes messages from one feed and commits them, as the workers of a projector do.
// No worker goes beyond its limit, the live position: what the live generation decides about a message, such as a clock adjustment or a dead
// letter, is recorded before the worker reads it.
type crew struct {
	config     Config
	source     *source
	replay     ingest.Replay
	pool       *pgxpool.Pool // with the generation's tables on its search path
	store      *store.Store
	feed       *feed.SharedFeed
	batches    chan struct{}        // has a value for each batch that is read and committed now
	inPause    atomic.Bool          // writes of the live generation wait: no throttle makes that longer
	lost       lost                 // what is not to be repeated
	takeOver   bool                 // dead letters of newer generations become those of this one
	onCommit   func(messages int64) // called with their number after each commit; nil: not. It is set while the workers wait
	end        context.CancelFunc
	goroutines sync.WaitGroup
	workers    map[int16]*worker

	mu         sync.Mutex       // guards what follows
	corrected  fold.Corrections // that are not on record yet
	messages   int64            // committed in this run
	unreadable []UnreadableMessage
	touched    map[uuid.UUID]struct{} // phone systems of which calls were written since track; nil: it was not called
	failed     error
	moved      chan struct{} // closed, and replaced, when a worker has reached its limit or failed
}

// hire starts a crew for the partitions of the source. Its workers wait until [crew.reach] raises their limits. Close it.
func hire(ctx context.Context, c Config, s *source, schemaName string, replay ingest.Replay) (*crew, error) {
	pool, err := c.pool(ctx, map[string]string{
		"search_path": pgx.Identifier{schemaName}.Sanitize(),
		// Rows and positions are committed together, so a crash repeats what it lost.
		"synchronous_commit": "off",
		// A projector that holds the row of a dead letter may wait for the write pause, which waits for the crew.
		"lock_timeout": "2s",
	})
	if err != nil {
		return nil, err
	}
	hired := &crew{
		config: c, source: s, replay: replay, pool: pool, store: store.New(pool), batches: make(chan struct{}, 2*c.Workers),
		feed:    feed.NewSharedFeed(feed.Config{Conn: c.JetStream.Conn(), Stream: s.Stream, Partitions: s.partitions, Bytes: feedBytes}),
		workers: make(map[int16]*worker), corrected: make(fold.Corrections), moved: make(chan struct{}),
	}
	if err := hired.start(ctx, schemaName); err != nil {
		pool.Close()
		return nil, err
	}
	return hired, nil
}

// start starts the feed, and the workers at the generation's positions.
func (c *crew) start(ctx context.Context, schemaName string) error {
	var positions map[int16]store.Position
	err := withConn(ctx, c.pool, func(conn *pgx.Conn) (err error) {
		positions, err = store.Positions(ctx, conn, schemaName)
		return err
	})
	if err != nil {
		return err
	}
	for partition := range int16(c.source.partitions) {
		if c.replay.System.Valid && partition != c.source.partition(c.replay.System.UUID) {
			continue
		}
		at, known := positions[partition]
		if !known {
			at = store.Position{Partition: partition, Stream: c.source.ID}
			if err := c.store.InsertPosition(ctx, at); err != nil {
				return err
			}
		}
		c.workers[partition] = newWorker(c, at)
	}

	ctx, c.end = context.WithCancel(ctx)
	c.goroutines.Go(func() { c.feed.Run(ctx) })
	for _, w := range c.workers {
		c.goroutines.Go(func() { c.exited(ctx, w.run(ctx)) })
	}
	return nil
}

// close ends the workers, in the middle of what they do.
func (c *crew) close() {
	c.end()
	c.goroutines.Wait()
	c.pool.Close()
}

func (c *crew) exited(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
	c.wake()
}

// wake makes [crew.reach] look. The caller holds the mutex.
func (c *crew) wake() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// raise raises the limits of workers.
func (c *crew) raise(limits map[int16]store.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for partition, limit := range limits {
		if w := c.workers[partition]; w != nil {
			w.raise(limit)
		}
	}
}

// reach raises the limits of workers and returns once they are reached.
func (c *crew) reach(ctx context.Context, limits map[int16]store.Position) error {
	c.raise(limits)
	for {
		c.mu.Lock()
		err, moved, working := c.failed, c.moved, c.working()
		c.mu.Unlock()
		if err != nil || !working {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

// working tells whether a worker has not reached its limit. The caller holds the mutex.
func (c *crew) working() bool {
	for _, w := range c.workers {
		if !caughtUp(w.reached, w.limit) {
			return true
		}
	}
	return false
}

// caughtUp reports whether a position has reached a limit. A partition without a live position is built to the stream's end, so it can be above the
// position of the projector that claims it later. That projector publishes no watermark but the clock of what it has applied, so no event is
// applied after a watermark that promises it.
func caughtUp(at, limit store.Position) bool {
	return at.Sequence > limit.Sequence || at.Sequence == limit.Sequence && at.Clock.Now >= limit.Clock.Now && at.Clock.Watermark >= limit.Clock.Watermark
}

// correct gives all calls of phone systems, those that come included, a least time. It returns once the rows have it. The workers have nothing left to do.
func (c *crew) correct(ctx context.Context, corrections fold.Corrections) error {
	c.mu.Lock()
	c.corrected.Add(corrections)
	c.mu.Unlock()
	for system, at := range corrections {
		if err := c.store.CorrectCalls(ctx, c.source.partition(system), system, at); err != nil {
			return err
		}
	}
	return nil
}

// committed counts a change set.
func (c *crew) committed(changes store.ChangeSet) {
	c.note(changes)
	if c.onCommit != nil {
		c.onCommit(c.total())
	}
}

func (c *crew) note(changes store.ChangeSet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages += changes.MessageCounts.TotalRead()
	if c.touched != nil {
		for call := range changes.State.CallLogs.Rows() {
			c.touched[call.System] = struct{}{}
		}
	}
	for _, dead := range changes.DeadLetters {
		known := slices.ContainsFunc(c.unreadable, func(m UnreadableMessage) bool { return m.Sequence == dead.Sequence })
		if !known && len(c.unreadable) < maxUnreadable {
			c.unreadable = append(c.unreadable, UnreadableMessage{dead.Sequence, dead.Subject, dead.Reason})
		}
	}
}

// track begins to note the phone systems of which calls are written.
func (c *crew) track() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.touched = make(map[uuid.UUID]struct{})
}

// tracked returns them.
func (c *crew) tracked() []uuid.UUID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.touched))
}

// positions returns where the workers are, which have reached their limits.
func (c *crew) positions() map[int16]store.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	positions := make(map[int16]store.Position)
	for partition, w := range c.workers {
		positions[partition] = w.reached
	}
	return positions
}

// total returns how many messages were committed.
func (c *crew) total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.messages
}

// unread returns the messages that the crew could not apply, although they are not dead letters on record.
func (c *crew) unread() []UnreadableMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.unreadable)
}

// decisions returns what is on record about the messages above a position.
func (c *crew) decisions(ctx context.Context, at store.Position) (store.Decisions, error) {
	if c.takeOver {
		if err := c.takeOverDeadLetters(ctx, at); err != nil {
			return store.Decisions{}, err
		}
	}
	d, err := c.store.Decisions(ctx, at)
	if err != nil {
		return d, err
	}
	c.lost.forget(at.Partition, &d)
	c.mu.Lock()
	defer c.mu.Unlock()
	d.Corrections.Add(c.corrected)
	return d, nil
}

//go:embed take_over_dead_letters.sql
var takeOverDeadLettersSQL string

// takeOverDeadLetters makes dead letters of newer generations, above a position, those of this generation. This generation may be able
// to read them, but their rows would appear behind published watermarks.
func (c *crew) takeOverDeadLetters(ctx context.Context, at store.Position) error {
	_, err := c.pool.Exec(ctx, takeOverDeadLettersSQL, at.Stream, at.Partition, int64(at.Sequence))
	if err != nil {
		return fmt.Errorf("take over the dead letters: %w", err)
	}
	return nil
}
