package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
)

// Source is the stream of events that is read.
type Source struct {
	jetstream.Stream
	ID uuid.UUID // under which its positions and decisions are recorded

	name string // beside the stream's cached information, which another goroutine may be replacing
}

// OpenSource opens the stream with a name. A stream without an identity is an error.
func OpenSource(ctx context.Context, js jetstream.JetStream, name string) (Source, error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return Source{}, fmt.Errorf("stream %s: %w", name, err)
	}
	id, err := events.StreamID(stream.CachedInfo().Config)
	return Source{Stream: stream, ID: id, name: name}, err
}

// Name is the name of the stream.
func (s Source) Name() string { return s.name }

// Partitions returns the number of the stream's partitions, as the cached information says.
func (s Source) Partitions() (int, error) { return events.Partitions(s.CachedInfo().Config) }

// Reopen returns the source as it is now. The error is [ErrReplaced] where another stream has the name.
func (s Source) Reopen(ctx context.Context, js jetstream.JetStream) (Source, error) {
	now, err := OpenSource(ctx, js, s.name)
	if err == nil && now.ID != s.ID {
		err = fmt.Errorf("stream %s: %w", s.name, ErrReplaced)
	}
	return now, err
}

// ErrReplaced means that another stream has the name of the one that was opened.
var ErrReplaced = errors.New("another stream has its name now")
