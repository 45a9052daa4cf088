package projector

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/intake"
	"callboard/projector/store"
)

// applyTimeout bounds the work on one batch, a stop of the projector included.
const applyTimeout = 2 * time.Minute

// apply commits a batch, whatever is in it. A batch that was begun is finished although ctx ends.
func (p *partition) apply(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	items, err := intake.Read(messages, p.record)
	if err != nil {
		return err
	}
	if err := p.applyItems(ctx, intake.Weave(items, items[len(items)-1].Sequence, &p.record)); err != nil {
		return err
	}
	if err := messages[len(messages)-1].Ack(); err != nil {
		// The position is committed, and a lost acknowledgement costs nothing but a lag shown too high.
		p.log.Debug().Err(err).Msg("acknowledge")
	}
	return nil
}

func (p *partition) applyItems(ctx context.Context, items []intake.Item) error {
	for len(items) > 0 {
		portion := items[:intake.BodiesThatFit(items)]
		if err := intake.FetchBodies(ctx, p.config.JetStream, portion); err != nil {
			return err
		}
		if err := p.commit(ctx, portion); err != nil {
			return err
		}
		items = items[len(portion):]
	}
	return nil
}

// commit writes items in one transaction. Where Postgres refuses the data, it halves them until the one at fault is alone.
func (p *partition) commit(ctx context.Context, items []intake.Item) error {
	began := time.Now()
	err := p.transact(ctx, items)
	if err == nil {
		p.metrics.commits.WithLabelValues(label(p.number)).Observe(time.Since(began).Seconds())
		return nil
	}
	if !store.Refused(err) || len(items) == 1 && items[0].Reason != "" {
		return err
	}
	if len(items) == 1 {
		items[0].Reason = store.Reason(err)
		return p.commit(ctx, items)
	}
	half := len(items) / 2
	if err := p.commit(ctx, items[:half]); err != nil {
		return err
	}
	return p.commit(ctx, items[half:])
}

func (p *partition) transact(ctx context.Context, items []intake.Item) error {
	var change store.Commit
	err := p.store.Batch(ctx, func(tx *store.Tx) (err error) {
		change, err = p.write(ctx, tx, items)
		return err
	})
	if err != nil {
		return err
	}
	p.committed(change)
	return nil
}

func (p *partition) write(ctx context.Context, tx *store.Tx, items []intake.Item) (store.Commit, error) {
	state, err := tx.Load(ctx, p.position.Partition, intake.Readable(items))
	if err != nil {
		return store.Commit{}, err
	}
	change := intake.Fold(state, p.position, items, p.record)
	return change, tx.Commit(ctx, change)
}

// committed notes what now stands in the tables.
func (p *partition) committed(change store.Commit) {
	p.moved(change.To)
	p.metrics.cover(change.Coverage)
	for _, letter := range change.DeadLetters {
		p.metrics.deadLetters.WithLabelValues(label(p.number)).Inc()
		p.log.Warn().Uint64("sequence", letter.Sequence).Str("reason", letter.Reason).Msg("dead letter")
	}
	for _, r := range change.Resolved {
		p.log.Info().Uint64("sequence", r.Sequence).Stringer("outcome", r.Outcome).Str("reason", r.Reason).Msg("dead letter tried again")
	}
}
