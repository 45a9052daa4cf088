package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/store"
)

// StreamOf is the identity of a stream.
func StreamOf(info *jetstream.StreamInfo) store.Stream {
	return store.Stream{Name: info.Config.Name, Created: info.Created.Truncate(time.Microsecond)}
}

// Holds tells whether a stream still has what was applied last, or whatever has come after it: a server that lost the end of a stream
// gives its sequences to other messages. A message that was removed since, with all before it, is taken for granted.
func IntactUpTo(ctx context.Context, stream jetstream.Stream, p store.Position) (bool, error) {
	state := stream.CachedInfo().State
	if state.LastSeq < p.Sequence {
		return false, nil
	}
	if p.LastMessage == 0 || p.LastMessage < state.FirstSeq {
		return true, nil
	}
	m, err := stream.GetMsg(ctx, p.LastMessage)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return true, nil // removed by itself, which a stream that lost its end has not done
	case err != nil:
		return false, fmt.Errorf("message %d: %w", p.LastMessage, err)
	}
	return events.TimeOf(m.Time) == p.LastMessageAt, nil
}
