package events

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// FetchBodyWithin is [FetchBody] with another time limit for one attempt.
func FetchBodyWithin(ctx context.Context, js jetstream.JetStream, t *Transcript, timeout time.Duration) error {
	return fetchBody(ctx, js, t, timeout)
}
