package rebuild

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/store"
	"callboard/schema"
)

//go:embed reopen.sql
var reopenSQL string

// Result is what a rebuild did.
type Result struct {
	Generation    int64      `json:"generation"` // that is live now
	Replaced      int64      `json:"replaced"`
	PreviousKept  bool       `json:"previousKept"` // the replaced generation stays, for a rollback
	Resumed       bool       `json:"resumed"`      // an earlier run had begun it
	Messages      int64      `json:"messages"`     // folded in this run
	Rows          int64      `json:"rows"`         // copied in this run
	Followed      int64      `json:"followed"`     // messages behind the live generation
	Fold          Seconds    `json:"foldSeconds"`
	Index         Seconds    `json:"indexSeconds"`
	Follow        Seconds    `json:"followSeconds"`
	Compare       Seconds    `json:"compareSeconds"`
	SnapshotPause Seconds    `json:"snapshotPauseSeconds"` // the write pause in which the comparison's snapshots were taken
	WritePause    Seconds    `json:"writePauseSeconds"`    // the write pause of the switch
	Comparison    Comparison `json:"comparison"`           // with the generation that was replaced
}

// Seconds is a duration as JSON has it.
type Seconds float64

func since(began time.Time) Seconds { return Seconds(time.Since(began).Seconds()) }

// Run builds a generation, checks it against the live one and puts it in its place. An earlier run that didn't come to its end is
// gone on with. What the two differ in is said and stops nothing: it is what a rebuild is for. With keep, the replaced generation
// stays for a rollback. [ErrDiskFull] is the one failure that leaves nothing to go on with.
func Run(ctx context.Context, c Config, keep bool) (result Result, err error) {
	c = c.complete()
	err = exclusively(ctx, c, false, func(c Config) error {
		b := &building{config: c, keep: keep}
		err := b.run(ctx)
		result = b.result
		if err != nil {
			return b.makeRoom(ctx, err)
		}
		return nil
	})
	return result, err
}

// building is one run.
type building struct {
	config     Config
	keep       bool
	source     *source
	partitions int
	live, next schema.Generation
	parts      []part
	followed   map[int16]bool      // false: the live position isn't one of this stream's
	shortened  bool                // the stream has lost what the live generation has applied
	lost       []UnreadableMessage // retries of dead letters that can't be read any more
	result     Result
}

func (b *building) run(ctx context.Context) error {
	if err := b.plan(ctx); err != nil {
		return err
	}
	behind, err := newFollower(ctx, b.config, b.source, b.next, b.followed)
	if err != nil {
		return err
	}
	defer behind.pool.Close()
	for _, step := range []func(context.Context, *follower) error{b.fill, b.index, b.follow, b.check, b.replace} {
		if err := step(ctx, behind); err != nil {
			return err
		}
	}
	return b.drop(ctx)
}

// plan finds what is left to do of an earlier run, or begins a generation.
func (b *building) plan(ctx context.Context) error {
	b.config.Progress(Progress{Step: StepPlan})
	source, info, err := newSource(ctx, b.config)
	if err != nil {
		return err
	}
	b.source = source
	if b.partitions, err = events.Partitions(info.Config); err != nil {
		return err
	}
	var positions map[int16]store.Position
	err = withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		if b.live, err = liveGeneration(ctx, conn); err != nil {
			return err
		}
		positions, err = store.Positions(ctx, conn, live)
		return err
	})
	if err != nil {
		return err
	}
	sound, err := source.sound(ctx, positions)
	if err != nil {
		return err
	}
	b.followed = make(map[int16]bool)
	for partition, p := range positions {
		_, b.followed[partition] = sound[partition]
		b.shortened = b.shortened || !b.followed[partition] && p.Stream.Same(source.identity)
	}
	fresh, err := plan(ctx, b.config, source, sound)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, b.config.Database, func(tx pgx.Tx) error {
		b.next, b.result.Resumed, err = unfinished(ctx, tx, source.identity)
		if err != nil {
			return err
		}
		if b.result.Resumed {
			b.result.Resumed, err = b.resume(ctx, tx, info.State.LastSeq)
		}
		if err != nil {
			return err
		}
		if b.result.Resumed {
			b.measure(fresh)
			return nil
		}
		b.parts = fresh
		b.next, err = begin(ctx, tx, source.identity, fresh)
		return err
	})
}

// resume finds what is left to do of a generation. One of what the stream has lost since is dropped.
func (b *building) resume(ctx context.Context, tx pgx.Tx, last uint64) (usable bool, err error) {
	if b.parts, err = planned(ctx, tx, b.next, b.source.identity); err != nil {
		return false, err
	}
	positions, err := store.Positions(ctx, tx.Conn(), b.next.Schema())
	if err != nil {
		return false, err
	}
	sound, err := b.source.sound(ctx, positions)
	if err != nil {
		return false, err
	}
	beyond := slices.ContainsFunc(b.parts, func(p part) bool { return p.target.Sequence > last })
	if len(sound) == len(positions) && !beyond && !b.shortened { // it may be made of what was followed
		return true, nil
	}
	return false, b.next.Drop(ctx, tx)
}

// measure says how many messages the parts of an earlier run have.
func (b *building) measure(fresh []part) {
	for i, p := range b.parts {
		same := slices.IndexFunc(fresh, func(f part) bool { return f.target.Partition == p.target.Partition })
		p.sizes = fresh[same].sizes
		b.parts[i].events = p.size()
	}
}

func (b *building) fill(ctx context.Context, follower *follower) error {
	began := time.Now()
	f := &filling{config: b.config, progress: newProgress(b.config, b.parts), source: b.source, generation: b.next, followed: b.followed, pool: follower.pool}
	err := f.fill(ctx, b.parts)
	b.lost = f.lost
	b.result.Messages, b.result.Rows, b.result.Fold = f.read.Load(), f.rows.Load(), since(began)
	return err
}

func (b *building) index(ctx context.Context, follower *follower) error {
	began := time.Now()
	err := index(ctx, b.config, b.next, follower.pool)
	b.result.Index = since(began)
	return err
}

// closeEnough is how many messages may be left for the standstill.
const closeEnough = 500

// follow comes as close to the live generation as it goes while that moves on.
func (b *building) follow(ctx context.Context, follower *follower) error {
	began := time.Now()
	defer func() { b.result.Follow += since(began) }()
	var total int64
	for range maxRounds {
		if err := b.config.throttle.wait(ctx); err != nil {
			return err
		}
		n, err := b.round(ctx, follower)
		if err != nil {
			return err
		}
		total += n
		b.result.Followed += n
		b.config.Progress(Progress{Step: StepFollow, Done: total})
		if n < closeEnough {
			return nil
		}
	}
	return fmt.Errorf("after %d rounds the live generation is still ahead: events come faster than a second writer can follow; "+
		"try again when there are fewer", maxRounds)
}

// maxRounds is how often a new generation comes to where the live one stood a moment ago, before that is given up.
const maxRounds = 100

func (b *building) round(ctx context.Context, follower *follower) (messages int64, err error) {
	var positions map[int16]store.Position
	err = withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		positions, err = store.Positions(ctx, conn, live)
		return err
	})
	if err != nil {
		return 0, err
	}
	return follower.follow(ctx, positions)
}

func (b *building) check(ctx context.Context, follower *follower) (err error) {
	began := time.Now()
	k := &check{config: b.config, follower: follower, generation: b.next, partitions: b.partitions, collector: newCollector(b.config.Memory)}
	b.result.Comparison, err = k.run(ctx)
	b.result.Compare, b.result.SnapshotPause = since(began), k.standstill
	b.tell(append(b.lost, follower.lost...))
	return err
}

// tell adds messages that can't be read any more to those that are known.
func (b *building) tell(lost []UnreadableMessage) {
	known := &b.result.Comparison.Unreadable
	for _, l := range lost {
		if !slices.ContainsFunc(*known, func(k UnreadableMessage) bool { return k.Sequence == l.Sequence }) {
			*known = append(*known, l)
		}
	}
}

func (b *building) replace(ctx context.Context, follower *follower) error {
	if err := b.follow(ctx, follower); err != nil {
		return err
	}
	b.config.Progress(Progress{Step: StepSwitch})
	if err := b.holds(ctx); err != nil {
		return err
	}
	stood, err := standstill(ctx, b.config.Database, follower, func(tx pgx.Tx) error {
		if err := b.reopen(ctx, tx); err != nil {
			return err
		}
		return swap(ctx, tx, b.live, b.next)
	})
	b.result.WritePause = Seconds(stood.Seconds())
	b.tell(follower.lost)
	if err == nil {
		b.result.Generation, b.result.Replaced, b.result.PreviousKept = b.next.ID, b.live.ID, b.keep
	}
	return err
}

// holds is an error where the stream has lost what the new generation is made of.
func (b *building) holds(ctx context.Context) error {
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		positions, err := store.Positions(ctx, conn, b.next.Schema())
		if err != nil {
			return err
		}
		return b.source.mustHold(ctx, positions)
	})
}

// reopen has retries done again that were done behind what the stream has lost.
func (b *building) reopen(ctx context.Context, tx pgx.Tx) error {
	stream := b.source.identity
	for partition, followed := range b.followed {
		if followed {
			continue
		}
		if _, err := tx.Exec(ctx, reopenSQL, stream.Name, stream.Created, partition); err != nil {
			return fmt.Errorf("retries: %w", err)
		}
	}
	return nil
}
