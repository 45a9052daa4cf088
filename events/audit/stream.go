package audit

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The stream's name, its one subject, and the durable consumer that all projectors share.
const (
	StreamName = "AUDIT"
	Subject    = "callboard.audit"
	Consumer   = "projector"

	// MaxEntries is how many entries a message holds at most.
	MaxEntries = 500
)

// StreamConfig is the configuration of the stream. It keeps a message until it is filed, for however long that takes, and
// refuses new ones rather than forget: a reader whose entries are refused refuses requests.
func StreamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:       StreamName,
		Subjects:   []string{Subject},
		Storage:    jetstream.FileStorage,
		Retention:  jetstream.WorkQueuePolicy,
		Discard:    jetstream.DiscardNew,
		Duplicates: 2 * time.Minute,
		Replicas:   replicas,
		DenyDelete: true,
		DenyPurge:  true,
	}
}

// ConsumerConfig is the configuration of the consumer. A message that is not acknowledged, because its projector was killed for
// example, is delivered again, and for ever.
func ConsumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       Consumer,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       10 * time.Second,
		MaxDeliver:    -1,
		MaxAckPending: 200,
	}
}
