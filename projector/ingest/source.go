package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/store"
)

// Source is the stream of events that is read: the one that is configured, or the one that was adopted in its place.
type Source struct {
	jetstream.Stream
	History store.Stream // under which its positions and decisions are recorded

	identity   store.Stream // the identity of the stream when it was opened
	partitions int          // of a stream that is to be adopted; 0: what its settings say
}

// OpenSource opens the stream with a name, or the one that was adopted in its place.
func OpenSource(ctx context.Context, js jetstream.JetStream, db store.RowQuerier, name string) (Source, error) {
	stream, err := js.Stream(ctx, name)
	asked := store.Stream{Name: name}
	switch {
	case err == nil:
		asked = StreamOf(stream.CachedInfo())
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return Source{}, fmt.Errorf("stream %s: %w", name, err)
	}
	read, history, adopted, readErr := store.ReadStream(ctx, db, asked)
	switch {
	case readErr != nil:
		return Source{}, readErr
	case adopted && !read.Same(asked):
		if stream, err = js.Stream(ctx, read.Name); err != nil {
			return Source{}, fmt.Errorf("stream %s, which was adopted in place of %s: %w", read.Name, name, err)
		}
	case err != nil:
		return Source{}, fmt.Errorf("stream %s: %w", name, err)
	}
	s := Source{Stream: stream, identity: StreamOf(stream.CachedInfo()), History: history}
	if !s.identity.Same(read) {
		s.History = s.identity // it was created again
	}
	return s, nil
}

// OpenMirror opens a mirror as the source that it will be when it has been adopted into a history with this number of partitions.
func OpenMirror(ctx context.Context, js jetstream.JetStream, name string, history store.Stream, partitions int) (Source, error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return Source{}, fmt.Errorf("stream %s: %w", name, err)
	}
	return Source{Stream: stream, identity: StreamOf(stream.CachedInfo()), History: history, partitions: partitions}, nil
}

// Name is the name of the stream.
func (s Source) Name() string { return s.identity.Name }

// Identity is the stream's own identity when it was opened.
func (s Source) Identity() store.Stream { return s.identity }

// Partitions returns the number of the stream's partitions, as the cached information says.
func (s Source) Partitions() (int, error) {
	if s.partitions > 0 {
		return s.partitions, nil
	}
	return events.Partitions(s.CachedInfo().Config)
}

// Reopen returns the source as it is now. The error is [ErrReplaced] where another stream has the name.
func (s Source) Reopen(ctx context.Context, js jetstream.JetStream) (Source, error) {
	var err error
	if s.Stream, err = js.Stream(ctx, s.identity.Name); err != nil {
		return s, fmt.Errorf("stream %s: %w", s.identity.Name, err)
	}
	if !StreamOf(s.CachedInfo()).Same(s.identity) {
		return s, fmt.Errorf("stream %s: %w", s.identity.Name, ErrReplaced)
	}
	return s, nil
}

// ErrReplaced means that a stream was deleted and created again.
var ErrReplaced = errors.New("it was deleted and created again meanwhile")

// history returns the identity under which positions and decisions about a stream with this name are recorded, as the information about it says.
func (s Source) history(info *jetstream.StreamInfo) store.Stream {
	if now := StreamOf(info); !now.Same(s.identity) {
		return now
	}
	return s.History
}
