package audit

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The stream, its only subject, and the durable consumer that all projectors share.
const (
	StreamName = "AUDIT"
	Subject    = "callboard.audit"
	Consumer   = "projector"

	// MaxEntries is the largest number of entries in a message.
	MaxEntries = 512

	// maxBytes is what the stream holds at most: some two million entries. The audit can't take the disk that the events need. The server
	// reserves it: with more, it refuses the stream on a small disk.
	maxBytes = 1 << 30
)

// StreamConfig returns the configuration of the stream. The stream keeps a message until it is acknowledged, without a time limit. When it
// is full, it refuses new messages: readers keep the entries and, when they have no room left, refuse requests.
func StreamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:       StreamName,
		Subjects:   []string{Subject},
		Storage:    jetstream.FileStorage,
		Retention:  jetstream.WorkQueuePolicy,
		Discard:    jetstream.DiscardNew,
		MaxBytes:   maxBytes,
		Duplicates: 2 * time.Minute,
		Replicas:   replicas,
		DenyDelete: true,
		DenyPurge:  true,
	}
}

// ConsumerConfig returns the configuration of the consumer. A message that is not acknowledged, for example because its projector
// was killed, is delivered again without limit.
func ConsumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       Consumer,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       10 * time.Second,
		MaxDeliver:    -1,
		MaxAckPending: 200,
	}
}

// CheckStream returns one sentence for each setting of a running stream that can lose entries.
func CheckStream(running jetstream.StreamConfig) []string {
	var faults []string
	unsafe := func(is bool, format string, values ...any) {
		if is {
			faults = append(faults, "stream "+running.Name+" "+fmt.Sprintf(format, values...))
		}
	}
	unsafe(running.Storage != jetstream.FileStorage, "is not stored in files: a restart loses entries that are not in PostgreSQL yet.")
	unsafe(running.MaxAge > 0, "drops messages after %s: entries that no projector has stored by then are lost.", running.MaxAge)
	limited := running.MaxMsgs > 0 || running.MaxBytes > 0 || running.MaxMsgsPerSubject > 0
	unsafe(limited && running.Discard != jetstream.DiscardNew, "drops old messages when it is full: set its discard policy to new.")
	unsafe(running.MaxBytes <= 0, "has no limit of its size: entries that no projector stores can fill the disk of the events. "+
		"Run 'nats stream edit %s --max-bytes %d --discard new'.", running.Name, maxBytes)
	unsafe(running.Retention != jetstream.WorkQueuePolicy, "keeps acknowledged messages: set its retention to work queue.")
	unsafe(running.NoAck, "does not acknowledge messages: readers will refuse all requests once their queues are full.")
	return faults
}
