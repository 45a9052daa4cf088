package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/projector/fold"
	"callboard/projector/replay"
	"callboard/projector/store"
	"callboard/schema"
)

// builder is one run of a rebuild or a rollback.
type builder struct {
	config         Config
	keep           bool // the replaced generation
	source         *source
	partitions     int
	live, next     schema.Generation
	parts          []part
	intact         intactPositions
	streamBytes    int64
	regressed      map[int16]store.Position // live positions of partitions of which the stream has lost applied messages
	lost           []store.MessageID        // dead letters whose messages the stream has lost
	lostCaps       map[int16][]fold.ClockCap
	withoutNotices []withoutNotices
	served         map[int16]store.Position // positions of the live generation at the beginning of the comparison
	changed        *changedCalls            // found by it; nil: a rollback compares nothing
	wentLive       time.Time                // when the generation of a rollback did
	distrust       *distrust                // nil: no time of the stream is corrected
	result         Result
}

// intactPositions says by partition whether the stream still holds what the live position stands for. It lacks partitions that have no
// live position.
type intactPositions map[int16]bool

// lost reports whether the live position is of another stream, or of messages that the stream has lost.
func (p intactPositions) lost(partition int16) bool {
	intact, known := p[partition]
	return known && !intact
}

func (b *builder) run(ctx context.Context) error {
	if err := b.plan(ctx); err != nil {
		return err
	}
	f, err := newFollower(ctx, b.config, b.source, b.next, b.intact)
	if err != nil {
		return err
	}
	defer f.pool.Close()
	f.distrust = b.distrust
	for _, step := range []func(context.Context, *follower) error{b.fill, b.index, b.follow, b.compare, b.replace} {
		if err := step(ctx, f); err != nil {
			return err
		}
	}
	return b.dropPrevious(ctx)
}

// fill reads the stream once, and folds and copies the parts that are not done.
func (b *builder) fill(ctx context.Context, follower *follower) error {
	if err := b.findLostCaps(ctx, follower.store); err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(b.parts), func(p part) bool { return p.done })
	if len(open) > 0 {
		if err := b.fillParts(ctx, follower, open); err != nil {
			return b.deleteFullSpool(ctx, err)
		}
	}
	if err := b.findLost(ctx, follower.store); err != nil {
		return err
	}
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error { return b.config.deleteSpool(ctx, conn, b.next) })
}

func (b *builder) fillParts(ctx context.Context, follower *follower, open []part) error {
	f := &filler{config: b.config, generation: b.next, store: follower.store, pool: follower.pool, distrust: b.distrust}
	err := withConn(ctx, follower.pool, func(conn *pgx.Conn) (err error) {
		if f.catalog, err = store.ReadCatalog(ctx, conn, ""); err != nil {
			return err
		}
		f.live, err = store.Positions(ctx, conn, liveSchema)
		return err
	})
	if err != nil {
		return err
	}
	if f.spool, err = b.openSpool(ctx); err != nil {
		return err
	}
	if err := f.spool.readClockCaps(ctx, follower.store, open, b.reviseCaps); err != nil {
		return err
	}
	if err := b.read(ctx, f.spool, open); err != nil {
		return err
	}
	start := time.Now()
	f.progress = newFoldProgress(b.config, open)
	err = f.fill(ctx, open)
	b.result.Messages, b.result.Rows, b.result.Fold = f.read.Load(), f.rows.Load(), since(start)
	return err
}

// deleteFullSpool deletes the spool if err is that its file system is full, because others need the room too.
func (b *builder) deleteFullSpool(ctx context.Context, err error) error {
	if !replay.IsSpaceError(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskFullTimeout)
	defer cancel()
	deleteErr := withConn(ctx, b.config.Database, func(conn *pgx.Conn) error { return b.config.deleteSpool(ctx, conn, b.next) })
	return errors.Join(fmt.Errorf("%w: %w", ErrSpoolFull, err), deleteErr)
}

// openSpool continues the spool of an earlier run on this machine, or creates one.
func (b *builder) openSpool(ctx context.Context) (*spooler, error) {
	var folder string
	err := withConn(ctx, b.config.Database, func(conn *pgx.Conn) (err error) {
		folder, err = b.config.spoolFolder(ctx, conn, b.next)
		return err
	})
	if err != nil {
		return nil, err
	}
	plan := replay.Plan{Run: fmt.Sprintf("generation %d", b.next.ID), Stream: b.source.History, Targets: make(map[int16]uint64)}
	var done []replay.PartID
	for _, p := range b.parts {
		plan.Parts = append(plan.Parts, replay.Part{PartID: p.id(), Systems: p.systems, Slots: p.slots})
		plan.Targets[p.target.Partition] = p.target.Sequence
		if p.done {
			done = append(done, p.id())
		}
	}
	spool, err := replay.Open(folder, plan, done)
	if err == nil && spool.Sequence() == 0 {
		err = replay.CheckSpace(folder, b.streamBytes)
	}
	return &spooler{Spool: spool, source: b.source, resumable: true}, err
}

// read reads the stream into the spool, up to where the parts end.
func (b *builder) read(ctx context.Context, spool *spooler, parts []part) error {
	start := time.Now()
	defer func() { b.result.Read = since(start) }()
	var end uint64
	for _, p := range parts {
		end = max(end, p.target.Sequence)
	}
	spool.onRead = func(sequence uint64) {
		b.config.Progress(Progress{Step: StepRead, Done: int64(sequence), Total: int64(end)})
	}
	spool.onRead(spool.Sequence())
	return spool.reach(ctx, end)
}

func (b *builder) index(ctx context.Context, follower *follower) error {
	start := time.Now()
	err := createIndexes(ctx, b.config, b.next, follower.pool)
	b.result.Index = since(start)
	return err
}

const (
	// maxPauseMessages is how many messages may remain to be applied during a write pause.
	maxPauseMessages = 500
	// maxFollowRounds limits the rounds of followUntilNear. Each applies the messages up to the live positions at its start.
	maxFollowRounds = 100
)

// follow comes close to the live generation, as a step that shows its progress.
func (b *builder) follow(ctx context.Context, follower *follower) error {
	return b.followUntilNear(ctx, follower, followers, func(total int64) { b.config.Progress(Progress{Step: StepFollow, Done: total}) })
}

// followUntilNear applies messages, of that many partitions at a time, until few remain between the generation and the live one, which moves on
// meanwhile, or as many as a write pause has time for.
func (b *builder) followUntilNear(ctx context.Context, follower *follower, partitions int, report func(messages int64)) error {
	start := time.Now()
	defer func() { b.result.Follow += since(start) }()
	var total int64
	var began time.Time
	for range maxFollowRounds {
		if err := b.config.throttle.wait(ctx); err != nil {
			return err
		}
		began = time.Now()
		n, err := b.followRound(ctx, follower, partitions)
		if err != nil {
			return err
		}
		total += n
		b.result.Followed += n
		report(total)
		if n < maxPauseMessages {
			return nil
		}
	}
	if time.Since(began) < maxWritePause/2 {
		return nil // a write pause has time for as much as the last round
	}
	return fmt.Errorf("after %d rounds the live generation is still ahead, because events arrive faster than a second writer can follow: "+
		"try again when fewer arrive", maxFollowRounds)
}

func (b *builder) followRound(ctx context.Context, follower *follower, partitions int) (messages int64, err error) {
	var positions map[int16]store.Position
	err = withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		positions, err = store.Positions(ctx, conn, liveSchema)
		return err
	})
	if err != nil {
		return 0, err
	}
	return follower.follow(ctx, positions, partitions)
}

func (b *builder) compare(ctx context.Context, follower *follower) (err error) {
	start, followed := time.Now(), b.result.Follow
	c := &comparer{
		config: b.config, follower: follower, generation: b.next, partitions: b.partitions, merger: merger{collector: newCollector(b.config)},
		follow: func(ctx context.Context) error {
			return b.followUntilNear(ctx, follower, backgroundFollowers, func(int64) {})
		},
	}
	b.result.Comparison, err = c.run(ctx)
	b.served, b.changed = c.served, c.merger.collector.calls
	b.result.Compare = since(start) - (b.result.Follow - followed)
	b.result.SnapshotPause, b.result.SnapshotPauses = Seconds(c.longest.Seconds()), c.pauses
	b.addUnreadable(follower.unreadable)
	return err
}

// addUnreadable adds messages to the result, each once.
func (b *builder) addUnreadable(messages []UnreadableMessage) {
	found := &b.result.Comparison.Unreadable
	for _, m := range messages {
		if !slices.ContainsFunc(*found, func(f UnreadableMessage) bool { return f.Sequence == m.Sequence }) {
			*found = append(*found, m)
		}
	}
}

func (b *builder) replace(ctx context.Context, follower *follower) error {
	if err := b.follow(ctx, follower); err != nil {
		return err
	}
	b.config.Progress(Progress{Step: StepSwitch})
	if err := b.verifyNext(ctx); err != nil {
		return err
	}
	var done bool
	pause, err := pauseWrites(ctx, b.config, follower, func(tx pgx.Tx) (err error) {
		defer func() { done = err == nil }()
		if err := b.config.checkLock(ctx, tx); err != nil {
			return err
		}
		if err := checkComplete(ctx, tx, b.next); err != nil {
			return err
		}
		for _, step := range []func(context.Context, pgx.Tx) error{b.reopenDeadLetters, b.dropLost, b.dropLostCaps, b.raiseFloors} {
			if err := step(ctx, tx); err != nil {
				return err
			}
		}
		if err := b.distrust.record(ctx, tx, b.source.History, b.parts); err != nil {
			return err
		}
		if err := switchGenerations(ctx, tx, b.live, b.next, b.distrust.maxPlausible()); err != nil {
			return err
		}
		return b.correct(ctx, tx)
	})
	b.result.WritePause = Seconds(pause.Seconds())
	b.addUnreadable(follower.unreadable)
	if err != nil {
		return asUnconfirmed(err, done)
	}
	b.result.Generation, b.result.Replaced, b.result.PreviousKept, b.result.Distrusted = b.next.ID, b.live.ID, b.keep, b.distrust.messages()
	err = withConn(ctx, b.config.Database, func(conn *pgx.Conn) error { return schema.InvalidatePlans(ctx, conn) })
	return errors.Join(err, b.countWithoutNotices(ctx))
}

// verifyNext is an error if the stream has lost messages of which the new generation was built.
func (b *builder) verifyNext(ctx context.Context) error {
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		positions, err := store.Positions(ctx, conn, b.next.Schema())
		if err != nil {
			return err
		}
		return b.source.verifyPositions(ctx, positions)
	})
}

// dropPrevious drops the previous generations, except the one that was just replaced if it is to be kept.
func (b *builder) dropPrevious(ctx context.Context) error {
	b.config.Progress(Progress{Step: StepDrop})
	var except int64
	if b.keep {
		except = b.live.ID
	}
	if _, err := dropGenerations(ctx, b.config, Previous, except); err != nil {
		return fmt.Errorf("generation %d is live, and a previous one was not dropped: %w", b.next.ID, err)
	}
	return nil
}

const (
	// sharedMemoryFile is where PostgreSQL reports a full file system of its shared memory, with the same code as for a full disk.
	sharedMemoryFile = "dsm_impl.c"
	// diskFullTimeout limits dropping, which does not end with the run's context.
	diskFullTimeout = 2 * time.Minute
)

// dropOnDiskFull drops the unfinished generation if err is a full disk: the live generation needs the room first.
func (b *builder) dropOnDiskFull(ctx context.Context, err error) error {
	var refusal *pgconn.PgError
	if b.result.Generation != 0 || !errors.As(err, &refusal) || refusal.Code != pgerrcode.DiskFull || refusal.File == sharedMemoryFile {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskFullTimeout)
	defer cancel()
	if _, dropErr := dropGenerations(ctx, b.config, Unfinished, 0); dropErr != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNotDropped, err), dropErr)
	}
	return fmt.Errorf("%w: %w", ErrDiskFull, err)
}
