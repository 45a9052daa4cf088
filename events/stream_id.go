package events

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// streamIDKey is the key of a stream's metadata that has the stream's identity.
const streamIDKey = "callboard.stream"

// StreamID returns the identity of a stream: the UUID in its metadata. Streams with one UUID have the same
// messages, sequences and times. The metadata is part of the configuration, so a snapshot has it, and so has a
// mirror whose configuration is that of its origin.
func StreamID(cfg jetstream.StreamConfig) (uuid.UUID, error) {
	id, err := uuid.Parse(cfg.Metadata[streamIDKey])
	if err != nil || id == uuid.Nil {
		return uuid.Nil, fmt.Errorf("stream %s has no UUID as %s in its metadata: "+
			"run 'callboard stream create', which adds one",
			cfg.Name, streamIDKey)
	}
	return id, nil
}

// AddStreamID gives a stream a new identity unless it has one, and reports whether it had none.
func AddStreamID(ctx context.Context, js jetstream.JetStream, name string) (added bool, err error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("stream %s: %w", name, err)
	}
	cfg := stream.CachedInfo().Config
	if _, err := StreamID(cfg); err == nil {
		return false, nil
	}

	if cfg.Metadata == nil {
		cfg.Metadata = make(map[string]string)
	}
	cfg.Metadata[streamIDKey] = uuid.NewString()
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		return false, fmt.Errorf("stream %s: %w", name, err)
	}
	return true, nil
}
