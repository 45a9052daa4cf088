package rebuild

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

// builder is one run of a rebuild or a rollback.
type builder struct {
	config     Config
	keep       bool // the replaced generation
	source     *source
	live, next schema.Generation
	lost       lost    // what live positions stand for, and the stream has no longer
	newHistory bool    // a live position is of another stream
	loader     *loader // of the next generation
	result     Result

	changed     []uuid.UUID      // phone systems whose reports show other values in the next generation
	corrections fold.Corrections // that it has
}

// run is a rebuild.
func (b *builder) run(ctx context.Context) (err error) {
	if err := b.plan(ctx); err != nil {
		return err
	}

	if b.loader, err = newLoader(ctx, b.config, b.source, b.next.Schema(), ingest.Replay{}); err != nil {
		return err
	}
	defer b.loader.close()
	b.loader.lost = b.lost

	// The corrections are for the phone systems that the comparison has found.
	for _, step := range []func(context.Context) error{b.load, b.index, b.compare, b.correctAndReplace} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return b.dropPrevious(ctx)
}

// plan continues the generation of an earlier run, or creates one.
func (b *builder) plan(ctx context.Context) (err error) {
	b.config.Progress(Progress{Step: StepPlan})
	if b.source, err = newSource(ctx, b.config); err != nil {
		return err
	}
	if err := b.readLive(ctx); err != nil {
		return err
	}

	// A new history begins with a write pause, which can need several attempts.
	return withPauseRetries(ctx, b.config, func() error {
		return beginDurably(ctx, b.config.Database, func(tx pgx.Tx) error {
			if err := b.resumeOrCreate(ctx, tx); err != nil || !b.newHistory {
				return err
			}
			return b.beginHistory(ctx, tx)
		})
	})
}

// readLive reads the live generation and its positions, and finds out which of these are not of the stream.
func (b *builder) readLive(ctx context.Context) (err error) {
	var positions map[int16]store.Position
	err = withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		if b.live, _, err = liveGeneration(ctx, conn); err != nil {
			return err
		}
		positions, err = store.Positions(ctx, conn, liveSchema)
		return err
	})
	if err != nil {
		return err
	}

	valid, err := b.source.confirmedPositions(ctx, positions)
	if err != nil {
		return err
	}

	// An invalid position of this stream means that the stream has lost messages. A position of another stream means a
	// new history.
	regressed := make(map[int16]store.Position)
	for partition, p := range positions {
		switch _, intact := valid[partition]; {
		case intact:
		case p.Stream == b.source.ID:
			regressed[partition] = p
		default:
			b.newHistory = true
		}
	}

	b.lost, err = findLost(ctx, b.source, store.New(b.config.Database), regressed)
	return err
}

// resumeOrCreate takes an unfinished generation, or creates one. It drops one that may contain messages that the stream
// has lost since.
func (b *builder) resumeOrCreate(ctx context.Context, tx pgx.Tx) (err error) {
	if b.next, b.result.Resumed, err = findUnfinished(ctx, tx, b.source.ID); err != nil {
		return err
	}

	// The unfinished generation is of use only if the stream still has every message that the generation has read.
	if b.result.Resumed {
		positions, err := store.Positions(ctx, tx.Conn(), b.next.Schema())
		if err != nil {
			return err
		}

		valid, err := b.source.validPositions(ctx, positions)
		if err != nil {
			return err
		}
		if len(valid) == len(positions) && len(b.lost.regressed) == 0 {
			return nil
		}

		if err := drop(ctx, tx, b.next); err != nil {
			return err
		}
		b.result.Resumed = false
	}

	b.next, err = createGeneration(ctx, tx, b.source.ID, b.source.partitions)
	return err
}

// load builds the generation up to the live one.
func (b *builder) load(ctx context.Context) error {
	total, err := b.source.messages(ctx)
	if err != nil {
		return err
	}

	// An earlier run may have read some of the messages.
	before, err := countMessages(ctx, b.loader.pool)
	if err != nil {
		return err
	}

	start := time.Now()
	b.loader.onCommit = func(messages int64) {
		b.config.Progress(Progress{Step: StepLoad, Done: before + messages, Total: max(total, before+messages)})
	}
	b.loader.onCommit(0)

	err = b.loader.approach(ctx)
	b.loader.onCommit = nil
	b.result.Messages, b.result.Load = b.loader.messages, since(start)
	return err
}

// index creates the indexes that only readers need, and collects statistics for the planner.
func (b *builder) index(ctx context.Context) error {
	start := time.Now()
	err := createIndexes(ctx, b.config, b.next, b.loader.pool)
	b.result.Index = since(start)
	return err
}

// compare compares the generation with the live one. Where that is of another stream, nothing proves which rows are the
// same.
func (b *builder) compare(ctx context.Context) (err error) {
	if b.newHistory {
		b.result.NewHistory = true
		return nil
	}

	// The live generation has moved on while the indexes were created.
	if err := b.loader.approach(ctx); err != nil {
		return err
	}

	start := time.Now()
	c := comparer{config: b.config, loader: b.loader, schema: b.next.Schema()}
	if b.result.Comparison, err = c.run(ctx); err != nil {
		return err
	}

	b.changed, b.result.SnapshotPause, b.result.Compare = c.changed, c.pause, since(start)
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error { return b.readUnreadable(ctx, conn) })
}

//go:embed unreadable.sql
var unreadableSQL string

// readUnreadable reads which messages that the live generation has applied are dead letters of the next one, also those
// of an earlier run.
func (b *builder) readUnreadable(ctx context.Context, conn *pgx.Conn) (err error) {
	rows, _ := conn.Query(ctx, unreadableSQL, b.next.ID, maxUnreadable)
	b.result.Comparison.Unreadable, err = pgx.CollectRows(rows, pgx.RowToStructByPos[UnreadableMessage])
	if err != nil {
		return fmt.Errorf("read the new dead letters: %w", err)
	}
	return nil
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
	// sharedMemoryFile is where PostgreSQL reports a full file system of its shared memory, with the same code as for a
	// full disk.
	sharedMemoryFile = "dsm_impl.c"
	// diskFullTimeout limits dropping, which does not end with the run's context.
	diskFullTimeout = 2 * time.Minute
)

// dropOnDiskFull drops the unfinished generation if err is a full disk: the live generation needs the room first.
func (b *builder) dropOnDiskFull(ctx context.Context, err error) error {
	var refusal *pgconn.PgError
	if b.result.Generation != 0 || !errors.As(err, &refusal) || refusal.Code != pgerrcode.DiskFull ||
		refusal.File == sharedMemoryFile {
		return err
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskFullTimeout)
	defer cancel()
	if _, dropErr := dropGenerations(ctx, b.config, Unfinished, 0); dropErr != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNotDropped, err), dropErr)
	}
	return fmt.Errorf("%w: %w", ErrDiskFull, err)
}
