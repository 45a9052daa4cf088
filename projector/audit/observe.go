package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/projector"
)

// observeInterval is the interval at which the state of the stream is read.
const observeInterval = 5 * time.Second

// observe reports the pending messages and purges stored ones until ctx ends. It does not depend on the session,
// which can't report what it can't store. While the database does not answer, the last position counts.
func (w *Writer) observe(ctx context.Context) {
	var stored position
	for ctx.Err() == nil {
		if err := w.observeOnce(ctx, &stored); unlessEnded(ctx, err) != nil {
			w.config.Log.Debug().Err(err).Msg("reading the state of the audit stream failed")
		}
		projector.Pause(ctx, observeInterval)
	}
}

func (w *Writer) observeOnce(ctx context.Context, stored *position) error {
	ctx, cancel := context.WithTimeout(ctx, observeInterval)
	defer cancel()
	stream, err := w.findStream(ctx)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()

	// What is behind the position is pending. While the database does not answer, the last position counts.
	recorded, _, err := w.readPosition(ctx)
	if err == nil {
		*stored = recorded
	}
	done := max(stored.sequence+1, info.State.FirstSeq) - 1
	w.metrics.pending.Set(float64(info.State.LastSeq - min(done, info.State.LastSeq)))
	if err != nil {
		return err
	}
	return purgeStored(ctx, stream, recorded)
}

// purgeStored removes the oldest quarter of the messages when the stream is three quarters full, and at least the
// older half is stored. A failover can set the position back: another quarter of the messages is there for it.
// Nothing is removed while the position is of another stream.
func purgeStored(ctx context.Context, stream jetstream.Stream, stored position) error {
	info := stream.CachedInfo()
	state, limit := info.State, info.Config.MaxBytes
	if limit <= 0 || state.Bytes < uint64(limit)/4*3 || stored.sequence < state.FirstSeq+state.Msgs/2 {
		return nil
	}
	if same, err := has(ctx, stream, stored); !same || err != nil {
		return err
	}
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(state.FirstSeq+state.Msgs/4)); err != nil {
		return fmt.Errorf("purge the oldest audit messages: %w", err)
	}
	return nil
}
