package projector

import (
	"context"
	"errors"
	"fmt"

	"callboard/projector/ingest"
	"callboard/projector/store"
)

// checkTicks is the interval at which the stream is compared with the positions: 5 s.
const checkTicks = 10

// checkStream compares the stream with the positions until ctx ends: it may have lost messages that were applied. A check that fails is repeated: it
// proves nothing about the stream.
func (s *supervisor) checkStream(ctx context.Context) {
	every(ctx, checkTicks*s.projector.config.Tick, func(ctx context.Context) {
		workers := s.active()
		if len(workers) == 0 {
			return
		}
		if err := s.check(ctx, workers); err != nil && ctx.Err() == nil {
			s.projector.config.Log.Warn().Err(err).Msg("comparing the stream with the positions failed")
		}
	})
}

// check fails the workers whose position doesn't fit the stream. The newest message that any partition knows stands for all of them.
func (s *supervisor) check(ctx context.Context, workers []*worker) error {
	// A position that is read later could be above what the answer says about the stream.
	seen := make(map[*worker]store.Position)
	newest, fit := workers[0], true
	for _, w := range workers {
		seen[w] = *w.position.Load()
		if seen[w].LastMessage > seen[newest].LastMessage {
			newest = w
		}
	}

	source := s.source
	info, err := source.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", source.Name(), err)
	}
	s.projector.metrics.firstSequence.Set(float64(info.State.FirstSeq))
	for _, w := range workers {
		fit = fit && source.WithinBounds(info, seen[w]) && w.registered == newest.registered
	}
	err = source.CheckPosition(ctx, seen[newest], newest.registered)
	var stop *ingest.StopError
	if err == nil && fit || err != nil && !errors.As(err, &stop) {
		return err
	}

	for _, w := range workers {
		err := source.CheckPosition(ctx, seen[w], w.registered)
		if err != nil && !errors.As(err, &stop) {
			return err
		}
		if err != nil {
			w.fail(err)
		}
	}
	return nil
}
