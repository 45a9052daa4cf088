package projector

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector/store"
)

// applyTimeout bounds the work on one batch, a stop of the projector included.
const applyTimeout = 2 * time.Minute

// apply commits a batch, whatever is in it. A batch that was begun is finished although ctx ends.
func (p *partition) apply(ctx context.Context, messages []jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyTimeout)
	defer cancel()
	items, err := p.applier.Reader.Read(messages)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := p.applier.Apply(ctx, items); err != nil {
		return err
	}
	p.metrics.commits.WithLabelValues(label(p.number)).Observe(time.Since(began).Seconds())
	if err := messages[len(messages)-1].Ack(); err != nil {
		// The position is committed, and a lost acknowledgement costs nothing but a lag shown too high.
		p.log.Debug().Err(err).Msg("acknowledge")
	}
	return nil
}

// committed notes what now stands in the tables.
func (p *partition) committed(change store.ChangeSet) {
	p.moved()
	p.metrics.cover(change.MessageCounts)
	for _, letter := range change.DeadLetters {
		p.metrics.deadLetters.WithLabelValues(label(p.number)).Inc()
		p.log.Warn().Uint64("sequence", letter.Sequence).Str("reason", letter.Reason).Msg("dead letter")
	}
	for _, r := range change.Resolutions {
		p.log.Info().Uint64("sequence", r.Sequence).Stringer("outcome", r.Outcome).Str("reason", r.Reason).Msg("dead letter tried again")
	}
}
