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

// checkStream compares the stream with the positions until ctx ends: it may have lost messages that were applied. A
// check that fails is repeated: it proves nothing about the stream.
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

// check fails the workers whose position doesn't fit the stream. Partitions without messages have the same last
// message: one request is enough for all.
func (s *supervisor) check(ctx context.Context, workers []*worker) error {
	// A position that is read later could be above what the answer says about the stream.
	seen := make(map[*worker]store.Position)
	for _, w := range workers {
		seen[w] = *w.position.Load()
	}

	// The answer also refreshes the information with which CheckPosition compares.
	info, err := s.source.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", s.source.Name(), err)
	}
	s.projector.metrics.firstSequence.Set(float64(info.State.FirstSeq))

	intact := make(map[uint64]bool) // last messages that the stream has
	for _, w := range workers {
		if intact[seen[w].LastMessage] && s.source.WithinBounds(info, seen[w]) {
			continue
		}

		// Only a stop is a reason to end the worker. Other errors say nothing about its position.
		err := s.source.CheckPosition(ctx, seen[w], w.registered)
		var stop *ingest.StopError
		switch {
		case err == nil:
			intact[seen[w].LastMessage] = true
		case errors.As(err, &stop):
			w.fail(err)
		default:
			return err
		}
	}

	return nil
}
