package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector/ingest"
	"callboard/projector/retry"
	"callboard/projector/store"
	"callboard/schema"
)

var (
	//go:embed take_over_dead_letters.sql
	takeOverDeadLettersSQL string

	//go:embed write_pause.sql
	writePauseSQL string
)

// followers is how many partitions follow at a time.
const followers = 8

// backgroundFollowers is the same between two slices of a comparison. Nothing waits for them, and readers need the processors.
const backgroundFollowers = 1

// follower brings a generation to the positions of the live one, and never further: what the live one decides about a message, such as
// a clock adjustment or a dead letter, is recorded before the follower reads the message.
type follower struct {
	source *source
	pool   *pgxpool.Pool // with the generation's tables on its search path
	store  *store.Store
	schema string
	intact intactPositions

	distrust *distrust // nil: no time of the stream is corrected

	mu         sync.Mutex          // guards what follows
	unreadable []UnreadableMessage // messages that the live generation applied
}

func newFollower(ctx context.Context, c Config, s *source, g schema.Generation, intact intactPositions) (*follower, error) {
	// A projector that holds the row of a dead letter, whose retry it applies, may wait for the write pause, which waits for the follower.
	pool, err := c.pool(ctx, map[string]string{"search_path": g.Schema(), "lock_timeout": "2s"})
	if err != nil {
		return nil, err
	}
	// A throttle would make a write pause longer.
	unthrottled := *s
	unthrottled.throttle = func(context.Context) error { return nil }
	return &follower{source: &unthrottled, pool: pool, store: store.New(pool), schema: g.Schema(), intact: intact}, nil
}

// follow applies messages up to the positions, of that many partitions at a time, except in partitions whose live position the stream has
// lost. It returns the number of messages.
func (f *follower) follow(ctx context.Context, to map[int16]store.Position, partitions int) (int64, error) {
	var from map[int16]store.Position
	err := withConn(ctx, f.pool, func(conn *pgx.Conn) (err error) {
		from, err = store.Positions(ctx, conn, f.schema)
		return err
	})
	if err != nil {
		return 0, err
	}
	var applied atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partitions)
	for partition, target := range to {
		at := from[partition]
		target.Clock = f.distrust.clock(target.Clock, at.Clock)
		if f.intact.lost(partition) || caughtUp(at, target) {
			continue
		}
		group.Go(func() error {
			n, err := f.followPartition(ctx, at, target)
			applied.Add(n)
			return err
		})
	}
	err = group.Wait()
	return applied.Load(), err
}

// caughtUp reports whether a position has reached the target. A partition without a live position is folded to the stream's end, so it
// can be above the position of the projector that claims it later. That projector publishes no watermark but the clock of what it has
// applied, so no event is applied after a watermark that promises it.
func caughtUp(at, target store.Position) bool {
	return at.Sequence > target.Sequence || at.Sequence == target.Sequence && at.Clock == target.Clock
}

func (f *follower) followPartition(ctx context.Context, at, target store.Position) (applied int64, err error) {
	if at.Stream.Name == "" {
		at = store.Position{Partition: target.Partition, Stream: f.source.History}
		if err := f.store.InsertPosition(ctx, at); err != nil {
			return 0, err
		}
	}
	if err := f.takeOverDeadLetters(ctx, at); err != nil {
		return 0, err
	}
	decisions, err := f.store.Decisions(ctx, at)
	if err != nil {
		return 0, err
	}
	f.distrust.revise(&decisions)
	applier := ingest.Applier{
		JetStream: f.source.js,
		Store:     f.store,
		Reader:    ingest.Reader{Decisions: decisions},
		Position:  at,
		OnCommit: func(c store.ChangeSet) {
			applied += c.MessageCounts.TotalRead()
			f.addUnreadable(c)
		},
	}
	err = f.source.read(ctx, events.PartitionFilter(int(at.Partition)), at.Sequence, target.Sequence, func(messages []events.StoredMessage) error {
		return applier.Apply(ctx, applier.Reader.Read(messages), time.Time{})
	})
	if err != nil {
		return applied, err
	}
	return applied, applier.Advance(ctx, advanceTo(applier.Position, target))
}

func (f *follower) addUnreadable(c store.ChangeSet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unreadable = append(f.unreadable, unreadableMessages(c.DeadLetters)...)
}

// takeOverDeadLetters makes dead letters of newer generations, above a position, those of this generation. This generation may be able
// to read them, but their rows would appear behind published watermarks.
func (f *follower) takeOverDeadLetters(ctx context.Context, at store.Position) error {
	_, err := f.pool.Exec(ctx, takeOverDeadLettersSQL, at.Stream.Name, at.Stream.Created, at.Partition, int64(at.Sequence))
	if err != nil {
		return fmt.Errorf("take over the dead letters: %w", err)
	}
	return nil
}

// advanceTo returns a position that has reached the target. See [caughtUp] for why it may be above the target already.
func advanceTo(at, target store.Position) store.Position {
	if target.LastMessage > at.LastMessage {
		at.LastMessage, at.LastMessageAt = target.LastMessage, target.LastMessageAt
	}
	at.Sequence = max(at.Sequence, target.Sequence)
	at.Clock.Now = max(at.Clock.Now, target.Clock.Now)
	at.Clock.Watermark = max(at.Clock.Watermark, target.Clock.Watermark)
	return at
}

const (
	// maxWritePause is how long a write pause may wait for the follower.
	maxWritePause = 10 * time.Second
	// maxPauseTries is how often a write pause is tried.
	maxPauseTries = 20
)

// pauseWrites makes the live generation's commits wait, brings the follower to its positions, and does work, all in one transaction. It
// returns the length of the pause. Where a projector does not finish its commit in time, or the follower does not catch up, commits go on
// for an increasing interval before the next attempt.
func pauseWrites(ctx context.Context, c Config, f *follower, work func(pgx.Tx) error) (pause time.Duration, err error) {
	return retryPause(ctx, c, func() (time.Duration, error) { return tryPauseWrites(ctx, c.Database, f, work) })
}

// retryPause tries a write pause until it succeeds.
func retryPause(ctx context.Context, c Config, try func() (time.Duration, error)) (pause time.Duration, err error) {
	backOff := retry.NewBackOff()
	for range maxPauseTries {
		pause, err = try()
		commitHangs := schema.HasCode(err, pgerrcode.LockNotAvailable)
		tooLong := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		if !commitHangs && !tooLong {
			return pause, err
		}
		c.Throttled("waiting for a write pause: a projector does not finish its commit, or the new generation does not catch up")
		retry.Pause(ctx, backOff.Next(0))
		c.Throttled("")
	}
	return 0, fmt.Errorf("write pause: a projector does not finish its commit, or the new generation does not catch up: %w", err)
}

// tryPauseWrites asks the stream what it can before the pause, and applies the messages that there are.
func tryPauseWrites(ctx context.Context, pool *pgxpool.Pool, f *follower, work func(pgx.Tx) error) (pause time.Duration, err error) {
	err = withConn(ctx, pool, func(conn *pgx.Conn) error { return f.catchUp(ctx, conn) })
	if err != nil {
		return 0, err
	}
	err = beginDurably(ctx, pool, func(tx pgx.Tx) error {
		if err := beginWritePause(ctx, tx); err != nil {
			return err
		}
		start := time.Now()
		defer func() { pause = time.Since(start) }()
		positions, err := store.Positions(ctx, tx.Conn(), liveSchema)
		if err != nil {
			return err
		}
		following, cancel := context.WithTimeout(ctx, maxWritePause)
		defer cancel()
		if _, err := f.follow(following, positions, followers); err != nil {
			return err
		}
		return work(tx)
	})
	return pause, err
}

// beginWritePause makes commits of the live generation wait until the transaction ends. Citus passes the text that has a setting on to the
// nodes, so each statement is executed alone.
func beginWritePause(ctx context.Context, tx pgx.Tx) error {
	for statement := range strings.SplitSeq(writePauseSQL, ";\n") {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("begin the write pause: %w", err)
		}
	}
	return nil
}

// catchUp follows to the positions of the live generation. It is an error if the stream has lost messages since they were intact.
func (f *follower) catchUp(ctx context.Context, conn *pgx.Conn) error {
	positions, err := store.Positions(ctx, conn, liveSchema)
	if err != nil {
		return err
	}
	if _, err := f.follow(ctx, positions, followers); err != nil {
		return err
	}
	maps.DeleteFunc(positions, func(partition int16, _ store.Position) bool { return f.intact.lost(partition) })
	return f.source.verifyPositions(ctx, positions)
}
