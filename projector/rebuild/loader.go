package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/projector"
	"callboard/projector/feed"
	"callboard/projector/fold"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

const (
	// maxWaitingBytes limits the messages that wait to be applied, of all partitions.
	maxWaitingBytes = 32 << 20
	// maxReadFailures is how often the stream is read again without progress.
	maxReadFailures = 8
	// maxRounds limits the rounds of [loader.approach].
	maxRounds = 100
	// nearEnough is how long the last round takes: a write pause has time for more.
	nearEnough = maxWritePause / 10
)

// loader fills the tables of a generation from the stream, by what a projector uses, too: a [feed.Reader] and an
// [ingest.Applier] for each partition. No partition goes beyond its limit, the live position: what the live generation
// decides about a message, such as a clock adjustment or a dead letter, is recorded before the loader reads it. It is
// for one goroutine.
type loader struct {
	outcome

	config     Config
	source     *source
	pool       *pgxpool.Pool // with the generation's tables on its search path
	store      *store.Store
	partitions map[int16]*partition

	end       uint64           // of the stream, when the last round began; partitions without a live position are filled up to it
	lost      lost             // what is not to be repeated
	takeOver  bool             // dead letters of newer generations become those of this one
	corrected fold.Corrections // that are not on record yet
	inPause   bool             // writes of the live generation wait: no throttle makes that longer
}

// partition is a partition whose tables are filled.
type partition struct {
	applier ingest.Applier
	limit   store.Position         // up to which it is filled
	waiting []events.StoredMessage // that were read and are not applied
	decided bool                   // the applier has the decisions about messages up to the limit
}

// newLoader returns a loader for the partitions of the source, which begins at the positions of a schema. Close it.
func newLoader(ctx context.Context, c Config, s *source, schemaName string, replay ingest.Replay) (*loader, error) {
	pool, err := c.pool(ctx, map[string]string{
		"search_path": pgx.Identifier{schemaName}.Sanitize(),
		// Rows and positions are committed together, so a crash repeats what it lost.
		"synchronous_commit": "off",
		// A projector that holds the row of a dead letter may wait for the write pause, which waits for the loader.
		"lock_timeout": "2s",
	})
	if err != nil {
		return nil, err
	}

	l := &loader{
		config: c, source: s, pool: pool, store: store.New(pool),
		partitions: make(map[int16]*partition), corrected: make(fold.Corrections),
	}

	if err := l.addPartitions(ctx, schemaName, replay); err != nil {
		pool.Close()
		return nil, err
	}
	return l, nil
}

// addPartitions adds the partitions with their positions, which it creates where there are none.
func (l *loader) addPartitions(ctx context.Context, schemaName string, replay ingest.Replay) error {
	var positions map[int16]store.Position
	err := withConn(ctx, l.pool, func(conn *pgx.Conn) (err error) {
		positions, err = store.Positions(ctx, conn, schemaName)
		return err
	})
	if err != nil {
		return err
	}

	// The replay of a single phone system needs the partition of that phone system alone.
	for number := range int16(l.source.partitions) {
		if replay.System.Valid && number != l.source.partition(replay.System.UUID) {
			continue
		}

		at, known := positions[number]
		if !known {
			at = store.Position{Partition: number, Stream: l.source.ID}
			if err := l.store.InsertPosition(ctx, at); err != nil {
				return err
			}
		}

		l.partitions[number] = &partition{limit: at, applier: ingest.Applier{
			JetStream: l.config.JetStream, Store: l.store, Replay: &replay, Position: at, OnCommit: l.committed,
			Decoder: ingest.Decoder{System: replay.System},
		}}
	}
	return nil
}

func (l *loader) close() { l.pool.Close() }

// approach comes close to the live generation, which moves on meanwhile. Each round builds up to the live positions at
// its start.
func (l *loader) approach(ctx context.Context) (err error) {
	var round time.Duration
	for range maxRounds {
		began := time.Now()
		if l.end, err = l.source.end(ctx); err != nil {
			return err
		}

		live, err := livePositions(ctx, l.config)
		if err != nil {
			return err
		}
		if err := l.reach(ctx, live); err != nil {
			return err
		}

		if round = time.Since(began); round < nearEnough {
			return nil
		}
	}

	if round < maxWritePause/2 {
		return nil // a write pause has time for as much as the last round
	}
	return fmt.Errorf("after %d rounds the live generation is still ahead, "+
		"because events arrive faster than a second writer can follow: "+
		"try again when fewer arrive", maxRounds)
}

// reach fills the partitions up to the live positions, and takes over their clocks and watermarks.
func (l *loader) reach(ctx context.Context, live map[int16]store.Position) error {
	// A later limit needs the decisions that were recorded in the meantime.
	var behind []*partition
	for number, p := range l.partitions {
		if limit := l.limit(number, live); !caughtUp(p.applier.Position, limit) {
			p.limit, p.decided = limit, false
			behind = append(behind, p)
		}
	}

	if len(behind) == 0 {
		return nil
	}

	if err := l.load(ctx, behind); err != nil {
		return err
	}
	return l.forEach(ctx, behind, func(ctx context.Context, p *partition) error {
		return p.applier.Advance(ctx, advanceTo(p.applier.Position, p.limit))
	})
}

// limit returns how far a partition may be filled: to its live position, or to the stream's end where it has none that
// the stream still holds.
func (l *loader) limit(number int16, live map[int16]store.Position) store.Position {
	limit := live[number]
	_, regressed := l.lost.regressed[number]
	if limit.Sequence == 0 || regressed || limit.Stream != l.source.ID {
		return store.Position{Partition: number, Stream: l.source.ID, Sequence: l.end}
	}
	return limit
}

// caughtUp reports whether a position has reached a limit. A partition without a live position is built to the stream's
// end, so it can be above the position of the projector that claims it later. That projector publishes no watermark but
// the clock of what it has applied, so no event is applied after a watermark that promises it.
func caughtUp(at, limit store.Position) bool {
	return at.Sequence > limit.Sequence || at.Sequence == limit.Sequence && at.Clock.Now >= limit.Clock.Now &&
		at.Clock.Watermark >= limit.Clock.Watermark
}

// advanceTo returns a position that has reached the limit. See [caughtUp] for why it may be above the limit already.
func advanceTo(at, limit store.Position) store.Position {
	if limit.LastMessage > at.LastMessage {
		at.LastMessage, at.LastMessageAt = limit.LastMessage, limit.LastMessageAt
	}
	at.Sequence = max(at.Sequence, limit.Sequence)
	at.Clock.Now = max(at.Clock.Now, limit.Clock.Now)
	at.Clock.Watermark = max(at.Clock.Watermark, limit.Clock.Watermark)
	return at
}

// load applies the messages of partitions up to their limits. Where the stream can't be read, it goes on from the
// positions, unless the stream has lost what was applied.
func (l *loader) load(ctx context.Context, behind []*partition) error {
	backOff := projector.NewBackOff()
	for failures := 0; ; {
		before := l.messages
		readErr, err := l.read(ctx, behind)
		if readErr == nil || err != nil {
			return err
		}

		if l.messages > before {
			failures = 0
			backOff.Reset()
		}
		if failures++; failures > maxReadFailures {
			return readErr
		}

		// The stream may have lost applied messages in the meantime.
		projector.Pause(ctx, backOff.Next(0))
		if err := l.source.verifyPositions(ctx, l.positions()); err != nil {
			return err
		}
	}
}

// read reads the stream once, by one consumer for all partitions, and applies the messages of partitions up to their
// limits. readErr says why the stream can't be read; any other error is err.
func (l *loader) read(ctx context.Context, behind []*partition) (readErr, err error) {
	// One consumer begins at the lowest position and ends at the highest limit.
	after, last := behind[0].applier.Position.Sequence, uint64(0)
	for _, p := range behind {
		p.waiting = nil
		after, last = min(after, p.applier.Position.Sequence), max(last, p.limit.Sequence)
	}
	if after >= last {
		return nil, nil // clocks alone have moved
	}

	if err := l.source.checkEnd(ctx, last); err != nil {
		return nil, err
	}

	var received uint64
	var bytes int
	reader := feed.Reader{
		Conn: l.config.JetStream.Conn(), Stream: l.source.Stream, After: after,
		Expects: func() bool { return received < last },
		Receive: func(m events.StoredMessage) bool {
			received = m.Sequence
			full := l.add(m)
			bytes += m.Size()

			if ended := received >= last; ended || full || bytes >= maxWaitingBytes {
				err = l.applyWaiting(ctx, behind)
				bytes = 0
				return !ended && err == nil
			}
			return true
		},
	}

	// A position can be at a clock message, so the consumer delivers clock messages, too.
	if len(l.partitions) < l.source.partitions {
		reader.Filters = []string{events.ClockSubject}
		for number := range l.partitions {
			reader.Filters = append(reader.Filters, events.PartitionFilter(int(number)))
		}
	}

	readErr = reader.Run(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return readErr, err
}

// add makes a message wait, unless its partition has it already or is not to have it. It tells whether the partition's
// batch is full. Clock messages are left out: where they moved the clock, that is on record.
func (l *loader) add(m events.StoredMessage) (full bool) {
	number, ok := events.SubjectPartition(m.Subject)
	p := l.partitions[int16(number)]
	if !ok || p == nil || m.Sequence <= p.applier.Position.Sequence || m.Sequence > p.limit.Sequence {
		return false
	}
	p.waiting = append(p.waiting, m)
	return len(p.waiting) >= l.config.Batch
}

// applyWaiting applies and commits the messages that wait, each partition's in one transaction.
func (l *loader) applyWaiting(ctx context.Context, behind []*partition) error {
	if !l.inPause {
		if err := l.config.throttle.wait(ctx); err != nil {
			return err
		}
	}

	return l.forEach(ctx, behind, func(ctx context.Context, p *partition) (err error) {
		if len(p.waiting) == 0 {
			return nil
		}

		// The live generation has recorded its decisions up to the limit, so the loader reads them only once.
		if !p.decided {
			if p.applier.Decoder.Decisions, err = l.decisions(ctx, p.applier.Position); err != nil {
				return err
			}
			p.decided = true
		}

		err = p.applier.Apply(ctx, p.applier.Decoder.Decode(p.waiting), time.Time{})
		p.waiting = nil
		return err
	})
}

// forEach works on partitions, on some at a time: PostgreSQL has work while others are decoded and folded.
func (l *loader) forEach(ctx context.Context, list []*partition, work func(context.Context, *partition) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * l.config.Workers)
	for _, p := range list {
		group.Go(func() error {
			if err := work(ctx, p); err != nil {
				return fmt.Errorf("partition %d: %w", p.applier.Position.Partition, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// correct gives all calls of phone systems, those that come included, a least time. It returns once the rows have it.
func (l *loader) correct(ctx context.Context, corrections fold.Corrections) error {
	l.corrected.Add(corrections)
	for system, at := range corrections {
		if err := l.store.RaiseUpdatedAt(ctx, l.source.partition(system), system, at); err != nil {
			return err
		}
	}
	return nil
}

// positions returns up to where the partitions are filled.
func (l *loader) positions() map[int16]store.Position {
	positions := make(map[int16]store.Position)
	for number, p := range l.partitions {
		positions[number] = p.applier.Position
	}
	return positions
}

//go:embed take_over_dead_letters.sql
var takeOverDeadLettersSQL string

// decisions returns what is on record about the messages above a position. The dead letters of newer generations are
// taken over: this generation may be able to read them, but their rows would appear behind published watermarks.
func (l *loader) decisions(ctx context.Context, at store.Position) (store.Decisions, error) {
	if l.takeOver {
		_, err := l.pool.Exec(ctx, takeOverDeadLettersSQL, at.Stream, at.Partition, int64(at.Sequence))
		if err != nil {
			return store.Decisions{}, fmt.Errorf("take over the dead letters: %w", err)
		}
	}

	d, err := l.store.Decisions(ctx, at)
	if err != nil {
		return d, err
	}

	// Lost clock caps are not repeated. Corrections that are not recorded yet apply already.
	l.lost.forget(at.Partition, &d)
	d.Corrections.Add(l.corrected)
	return d, nil
}
