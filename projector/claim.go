package projector

import (
	"context"
	"errors"
	"fmt"

	"callboard/projector/ingest"
	"callboard/projector/store"
)

// open claims the position.
func (w *worker) open(ctx context.Context) (err error) {
	w.reconnects = w.projector.config.JetStream.Conn().Stats().Reconnects
	if w.source, err = ingest.OpenSource(ctx, w.projector.config.JetStream, w.projector.config.Stream); err != nil {
		return err
	}
	if err := ingest.CheckLeader(w.source.CachedInfo()); err != nil {
		return err
	}
	return w.openPosition(ctx)
}

// openPosition claims the position and reads what was decided about the messages above it.
func (w *worker) openPosition(ctx context.Context) error {
	if err := withApplyTimeout(ctx, w.claim); err != nil {
		return err
	}

	// An owner that lost its locks could commit until the claim: only now the position is the last one.
	if err := w.checkPosition(ctx); err != nil {
		return err
	}

	return withApplyTimeout(ctx, func(ctx context.Context) (err error) {
		w.applier.Decoder.Decisions, err = w.projector.store.Decisions(ctx, w.applier.Position)
		return err
	})
}

// withApplyTimeout limits the time of statements: a host can disappear without closing the connection. Requests to NATS
// don't belong in work. One that is lost while a server restarts ends after five seconds, but only if its context has
// no deadline.
func withApplyTimeout(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	return work(ctx)
}

// claim registers the stream, where it is new, and claims the position.
func (w *worker) claim(ctx context.Context) error {
	now, err := w.source.Partitions()
	if err != nil {
		return err
	}

	// A stream that is registered already must still have its number of partitions.
	stream := w.source.ID
	w.registered, err = w.projector.store.RegisterStream(ctx, stream, now)
	if errors.Is(err, store.ErrNotMigrated) {
		return &ingest.StopError{Reason: ingest.MigrationMissing, Detail: err.Error()}
	}

	if err == nil {
		err = w.source.CheckPartitions(w.registered)
	}
	if err != nil {
		return err
	}

	// The claim raises the epoch, so a former owner can no longer commit.
	w.applier.Position, err = w.projector.store.Claim(ctx, stream, int16(w.partition))
	switch {
	case errors.Is(err, store.ErrStreamReplaced):
		return ingest.StreamReplaced(w.source.Name())

	case errors.Is(err, store.ErrDefinitionMismatch):
		return &ingest.StopError{
			Reason: ingest.DefinitionMismatch,
			Detail: "another release built the projection, and its projector and readers continue with it; " +
				"run 'callboard rebuild' of this release",
		}
	}
	return err
}

// checkPosition compares the stream, as it is now, with the position.
func (w *worker) checkPosition(ctx context.Context) error {
	if _, err := w.source.Info(ctx); err != nil {
		return fmt.Errorf("stream %s: %w", w.source.Name(), err)
	}
	w.projector.metrics.firstSequence.Set(float64(w.source.CachedInfo().State.FirstSeq))
	return w.source.CheckPosition(ctx, w.applier.Position, w.registered)
}
