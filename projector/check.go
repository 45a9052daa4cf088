package projector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callboard/projector/ingest"
)

// checkTicks is the interval at which the stream is compared with the positions: 5 s.
const checkTicks = 10

// checkActor compares the stream with the positions: it may have lost messages that were applied.
type checkActor struct {
	*Projector
	supervisor *supervisor
}

// run ends with ctx. A check that fails is repeated: it proves nothing about the stream.
func (a *checkActor) run(ctx context.Context) {
	tick := time.NewTicker(checkTicks * a.config.Tick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if workers := a.supervisor.active(); len(workers) > 0 {
			if err := a.check(ctx, workers); err != nil && ctx.Err() == nil {
				a.config.Log.Warn().Err(err).Msg("comparing the stream with the positions failed")
			}
		}
	}
}

// check fails the workers whose position doesn't fit the stream. The newest message that any partition knows stands for all of them.
func (a *checkActor) check(ctx context.Context, workers []*worker) error {
	newest, fit := workers[0], true
	// A position that is read later could be above what the answer says about the stream.
	for _, w := range workers {
		w.seen = *w.position.Load()
		if w.seen.LastMessage > newest.seen.LastMessage {
			newest = w
		}
	}
	source := a.supervisor.source
	info, err := source.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", source.Name(), err)
	}
	a.metrics.firstSequence.Set(float64(info.State.FirstSeq))
	for _, w := range workers {
		fit = fit && source.WithinBounds(info, w.seen) && w.registered == newest.registered
	}
	err = source.CheckPosition(ctx, newest.seen, newest.registered)
	var stop *ingest.StopError
	if err == nil && fit || err != nil && !errors.As(err, &stop) {
		return err
	}
	for _, w := range workers {
		err := source.CheckPosition(ctx, w.seen, w.registered)
		if err != nil && !errors.As(err, &stop) {
			return err
		}
		if err != nil {
			w.fail(err)
		}
	}
	return nil
}
