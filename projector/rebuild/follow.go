package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

//go:embed adopt.sql
var adoptSQL string

// follower brings a generation that isn't live to where the live one stands, and never further: what the live one decides about a
// message (a lift of the clock, a dead letter) is on record before the follower comes to it.
type follower struct {
	source *source
	pool   *pgxpool.Pool // with the generation's tables on its search path
	store  *store.Store
	schema string
	sound  map[int16]bool // false: the live position isn't one of this stream's, so that nobody is followed there

	mu   sync.Mutex          // guards what follows
	lost []UnreadableMessage // messages that the live generation has applied, and that can't be read any more
}

func newFollower(ctx context.Context, c Config, s *source, g schema.Generation, sound map[int16]bool) (*follower, error) {
	// A projector may hold a dead letter that it tries again, and wait for the standstill that waits for the follower.
	pool, err := c.pool(ctx, map[string]string{"search_path": g.Schema(), "lock_timeout": "2s"})
	if err != nil {
		return nil, err
	}
	// Nobody is waited for while the live generation stands still.
	hurried := *s
	hurried.pause = func(context.Context) error { return nil }
	return &follower{source: &hurried, pool: pool, store: store.New(pool), schema: g.Schema(), sound: sound}, nil
}

// follow comes to where the positions stand, and returns how many messages that took.
func (f *follower) follow(ctx context.Context, to map[int16]store.Position) (int64, error) {
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
	group.SetLimit(followers)
	for partition, target := range to {
		at := from[partition]
		if !f.follows(partition) || f.there(at, target) {
			continue
		}
		group.Go(func() error {
			n, err := f.partition(ctx, at, target)
			applied.Add(n)
			return err
		})
	}
	err = group.Wait()
	return applied.Load(), err
}

// follows tells whether the live position is one to come to.
func (f *follower) follows(partition int16) bool {
	sound, known := f.sound[partition]
	return sound || !known
}

// holds is an error where the stream has lost what the live generation has applied: it was found to be sound.
func (f *follower) holds(ctx context.Context, positions map[int16]store.Position) error {
	followed := maps.Clone(positions)
	maps.DeleteFunc(followed, func(partition int16, _ store.Position) bool { return !f.follows(partition) })
	return f.source.mustHold(ctx, followed)
}

// there tells whether a position needs to go no further. A partition that nobody had claimed at first may have gone further than its
// projector, which then publishes no watermark but the clock of what it has applied: nothing has come behind one.
func (f *follower) there(at, target store.Position) bool {
	if at.Sequence > target.Sequence {
		return at.RetrySeq >= target.RetrySeq // a retry belongs behind what is there
	}
	return at.Sequence == target.Sequence && at.RetrySeq == target.RetrySeq && at.Clock == target.Clock
}

// followers is how many partitions are brought on at a time.
const followers = 8

func (f *follower) partition(ctx context.Context, at, target store.Position) (applied int64, err error) {
	if at.Stream.Name == "" {
		at = store.Position{Partition: target.Partition, Stream: f.source.identity}
		if err := f.store.InsertPosition(ctx, at); err != nil {
			return 0, err
		}
	}
	if err := f.adopt(ctx, at); err != nil {
		return 0, err
	}
	record, err := f.store.Decisions(ctx, at)
	if err != nil {
		return 0, err
	}
	applier := ingest.Applier{
		JetStream: f.source.js,
		Store:     f.store,
		Reader:    ingest.Reader{Decisions: record.Until(target.RetrySeq)},
		Position:  at,
		OnCommit: func(c store.ChangeSet) {
			applied += c.MessageCounts.TotalRead()
			f.note(c)
		},
	}
	err = f.source.read(ctx, at.Partition, at.Sequence, target.Sequence, func(messages []jetstream.Msg) error {
		items, err := applier.Reader.Read(messages)
		if err != nil {
			return err
		}
		return applier.Apply(ctx, items)
	})
	if err != nil {
		return applied, err
	}
	if err := applier.Apply(ctx, applier.Reader.TakeRetries(target.Sequence)); err != nil {
		return applied, err
	}
	return applied, applier.Advance(ctx, stand(applier.Position, target))
}

// note keeps what couldn't be read.
func (f *follower) note(c store.ChangeSet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = append(f.lost, letters(slices.Concat(c.DeadLetters, c.FailedRetries()))...)
}

// adopt makes the live generation's dead letters above a position this one's, which is older than they are where it comes back. It
// could perhaps read them, but its rows would appear behind watermarks that were published.
func (f *follower) adopt(ctx context.Context, at store.Position) error {
	_, err := f.pool.Exec(ctx, adoptSQL, at.Stream.Name, at.Stream.Created, at.Partition, int64(at.Sequence))
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	return nil
}

// stand is a position that has come to the target's. It can be ahead already: of a partition that had no position when it was filled.
func stand(at, target store.Position) store.Position {
	if target.LastMessage > at.LastMessage {
		at.LastMessage, at.LastMessageAt = target.LastMessage, target.LastMessageAt
	}
	at.Sequence, at.RetrySeq = max(at.Sequence, target.Sequence), max(at.RetrySeq, target.RetrySeq)
	at.Clock.Now = max(at.Clock.Now, target.Clock.Now)
	at.Clock.Watermark = max(at.Clock.Watermark, target.Clock.Watermark)
	return at
}
