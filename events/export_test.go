package events

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// FetchBodiesWithPause is [FetchBodies] with another pause after the first attempt.
func FetchBodiesWithPause(
	ctx context.Context, js jetstream.JetStream, transcripts []*Transcript, pause time.Duration,
) (invalid []error, err error) {
	return fetchBodies(ctx, js, transcripts, pause)
}
