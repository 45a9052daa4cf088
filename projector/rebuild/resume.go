package rebuild

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
)

// plan continues the generation of an earlier run, or creates one.
func (b *builder) plan(ctx context.Context) error {
	b.config.Progress(Progress{Step: StepPlan})
	source, info, err := newSource(ctx, b.config)
	if err != nil {
		return err
	}
	b.source, b.streamBytes = source, int64(info.State.Bytes)
	if b.partitions, err = source.Partitions(); err != nil {
		return err
	}
	var positions map[int16]store.Position
	err = withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		if b.live, err = liveGeneration(ctx, conn); err != nil {
			return err
		}
		positions, err = store.Positions(ctx, conn, liveSchema)
		return err
	})
	if err != nil {
		return err
	}
	valid, err := source.confirmedPositions(ctx, positions)
	if err != nil {
		return err
	}
	b.intact, b.regressed = make(intactPositions), make(map[int16]store.Position)
	for partition, p := range positions {
		_, b.intact[partition] = valid[partition]
		if !b.intact[partition] && p.Stream.Same(source.History) {
			b.regressed[partition] = p
		}
	}
	parts, err := plan(ctx, b.config, source, valid)
	if err != nil {
		return err
	}
	if b.config.Distrust {
		if b.distrust, err = findJumps(ctx, source, info.State.LastSeq, parts); err != nil {
			return err
		}
	}
	_, err = retryPause(ctx, b.config, func() (time.Duration, error) {
		return 0, beginDurably(ctx, b.config.Database, func(tx pgx.Tx) error {
			err := b.resumeOrCreate(ctx, tx, parts, info.State.LastSeq)
			if err == nil && b.isNewHistory(positions) {
				err = b.beginHistory(ctx, tx)
			}
			return err
		})
	})
	return err
}

// resumeOrCreate takes the open parts of an unfinished generation, or creates a generation of new parts.
func (b *builder) resumeOrCreate(ctx context.Context, tx pgx.Tx, parts []part, last uint64) (err error) {
	if b.next, b.result.Resumed, err = findUnfinished(ctx, tx, b.config, b.source.History); err != nil {
		return err
	}
	switch {
	case !b.result.Resumed:
	case b.distrust != nil: // the parts that are done may have been folded by other times
		b.result.Resumed, err = false, b.config.drop(ctx, tx, b.next)
	default:
		b.result.Resumed, err = b.resume(ctx, tx, last)
	}
	if err != nil {
		return err
	}
	if b.result.Resumed {
		b.countEvents(parts)
		return nil
	}
	b.parts = parts
	b.next, err = createGeneration(ctx, tx, b.source.History, b.partitions, parts)
	return err
}

// resume takes the open parts of a generation. It drops one that may contain messages that the stream has lost since, and one that has followed
// without the rows of a part, which PostgreSQL has lost.
func (b *builder) resume(ctx context.Context, tx pgx.Tx, last uint64) (usable bool, err error) {
	if b.parts, err = recordedParts(ctx, tx, b.next, b.source.History); err != nil {
		return false, err
	}
	positions, err := store.Positions(ctx, tx.Conn(), b.next.Schema())
	if err != nil {
		return false, err
	}
	valid, err := b.source.validPositions(ctx, positions)
	if err != nil {
		return false, err
	}
	beyondEnd := slices.ContainsFunc(b.parts, func(p part) bool { return p.target.Sequence > last })
	followed := slices.ContainsFunc(b.parts, func(p part) bool { return !p.done && positions[p.target.Partition].Sequence > p.target.Sequence })
	if len(valid) == len(positions) && !beyondEnd && !followed && len(b.regressed) == 0 {
		return true, nil
	}
	return false, b.config.drop(ctx, tx, b.next)
}

// countEvents sets the message counts of resumed parts by those of new parts, and their slots, for a spool that begins again.
func (b *builder) countEvents(parts []part) {
	for i, p := range b.parts {
		same := slices.IndexFunc(parts, func(q part) bool { return q.target.Partition == p.target.Partition })
		p.sizes = parts[same].sizes
		b.parts[i].events = p.size()
		if same = slices.IndexFunc(parts, func(q part) bool { return q.id() == p.id() }); same >= 0 {
			b.parts[i].slots = parts[same].slots
		}
	}
}
