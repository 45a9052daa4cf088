package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// The work queue of earlier releases. Their readers publish to it and to no other stream, so it takes entries until the last of them has
// ended. Projectors store them and acknowledge.
const (
	QueueName     = "AUDIT"
	QueueConsumer = "projector"

	// closedSubject is the subject of a queue that takes nothing more. A stream must have one, and nobody publishes to it.
	closedSubject = "callboard.audit.closed"
)

// IsStream reports whether a stream has audit entries.
func IsStream(name string) bool { return slices.Contains(StreamNames(), name) }

// StreamNames returns the names of the streams that have audit entries.
func StreamNames() []string { return []string{StreamName, QueueName} }

// DeleteQueue closes the queue and deletes it if it is empty. It returns the number of messages that are left in a closed queue: projectors
// must store their entries first. The error wraps [jetstream.ErrStreamNotFound] if there is no queue.
func DeleteQueue(ctx context.Context, js jetstream.JetStream) (left uint64, err error) {
	queue, err := js.Stream(ctx, QueueName)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", QueueName, err)
	}
	config := queue.CachedInfo().Config
	if config.Retention != jetstream.WorkQueuePolicy {
		return 0, errors.New("stream " + QueueName + " is not a work queue: it is not deleted")
	}
	config.Subjects = []string{closedSubject} // before the count: what is acknowledged afterwards is not lost
	if queue, err = js.UpdateStream(ctx, config); err != nil {
		return 0, fmt.Errorf("close stream %s: %w", QueueName, err)
	}
	info, err := queue.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", QueueName, err)
	}
	if info.State.Msgs > 0 {
		return info.State.Msgs, nil
	}
	if err := js.DeleteStream(ctx, QueueName); err != nil {
		return 0, fmt.Errorf("delete stream %s: %w", QueueName, err)
	}
	return 0, nil
}
