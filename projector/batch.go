package projector

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// applyTimeout bounds the work on one batch, a stop of the projector included.
const applyTimeout = 2 * time.Minute

// apply commits a batch, whatever is in it. A batch that was begun is finished although ctx ends.
func (p *partition) apply(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	items, err := read(messages)
	if err != nil {
		return err
	}
	for len(items) > 0 {
		portion := items[:bodiesThatFit(items)]
		if err := p.fetchBodies(ctx, portion); err != nil {
			return err
		}
		if err := p.commit(ctx, portion); err != nil {
			return err
		}
		items = items[len(portion):]
	}
	if err := messages[len(messages)-1].Ack(); err != nil {
		// The position is committed, and a lost acknowledgement costs nothing but a lag shown too high.
		p.log.Debug().Err(err).Msg("acknowledge")
	}
	return nil
}

// commit writes items in one transaction. Where Postgres refuses the data, it halves them until the one at fault is alone.
func (p *partition) commit(ctx context.Context, items []item) error {
	began := time.Now()
	err := p.transact(ctx, items)
	if err == nil {
		p.metrics.commits.WithLabelValues(label(p.number)).Observe(time.Since(began).Seconds())
		return nil
	}
	if !store.Refused(err) || len(items) == 1 && items[0].reason != "" {
		return err
	}
	if len(items) == 1 {
		items[0].reason = store.Reason(err)
		return p.commit(ctx, items)
	}
	half := len(items) / 2
	if err := p.commit(ctx, items[:half]); err != nil {
		return err
	}
	return p.commit(ctx, items[half:])
}

func (p *partition) transact(ctx context.Context, items []item) error {
	var change store.Commit
	var tally tally
	err := p.store.Batch(ctx, func(tx *store.Tx) error {
		state, err := tx.Load(ctx, p.position.Partition, readable(items))
		if err != nil {
			return err
		}
		change, tally = p.foldAll(state, items)
		return tx.Commit(ctx, change)
	})
	if err != nil {
		return err
	}
	p.moved(change.To)
	tally.count(p.metrics)
	for _, letter := range change.DeadLetters {
		p.metrics.deadLetters.WithLabelValues(label(p.number)).Inc()
		p.log.Warn().Uint64("sequence", letter.Sequence).Str("reason", letter.Reason).Msg("dead letter")
	}
	return nil
}

// foldAll applies items in order to the rows that they touch.
func (p *partition) foldAll(state *fold.State, items []item) (store.Commit, tally) {
	c := store.Commit{From: p.position, To: p.position, State: state}
	tally := make(tally)
	for _, it := range items {
		stored := events.TimeOf(it.stored)
		if lift := c.To.Clock.Advance(it.sequence, stored, p.lifts); lift != nil {
			c.Lifts = append(c.Lifts, *lift)
		}
		reason := it.reason
		if reason == "" {
			outcome, err := state.Fold(it.event, c.To.Clock.Now)
			if err != nil {
				reason = err.Error()
			} else {
				tally[tallied{it.event.Entity, outcome}]++
			}
		}
		if reason != "" {
			c.DeadLetters = append(c.DeadLetters, it.deadLetter(reason))
		}
		c.To.Sequence = it.sequence
	}
	c.To.Clock.Publish(c.To.Clock.Now)
	return c, tally
}
