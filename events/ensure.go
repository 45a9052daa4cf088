package events

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// EnsureStream creates a stream where none of its name exists, and reports whether it did. It does not change an existing stream,
// whatever its settings are.
func EnsureStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) (created bool, err error) {
	_, err = js.Stream(ctx, config.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err
	}
	_, err = js.CreateStream(ctx, config)
	return err == nil, err
}

// EnsureBucket creates the bucket of transcripts where it does not exist, and reports whether it did.
func EnsureBucket(ctx context.Context, js jetstream.JetStream, replicas int) (created bool, err error) {
	_, err = js.ObjectStore(ctx, TranscriptBucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, err
	}
	_, err = js.CreateObjectStore(ctx, BucketConfig(replicas))
	return err == nil, err
}
