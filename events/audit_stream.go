package events

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The stream and its only subject.
const (
	AuditStream  = "AUDIT_LOG"
	AuditSubject = "callboard.audit.log"

	// MaxAuditEntries is the largest number of entries in a message.
	MaxAuditEntries = 512

	// auditMaxAge is how far a database can go back, by a failover or a restore, and still get all entries again.
	auditMaxAge = 48 * time.Hour

	// auditMaxBytes is what the stream holds at most: some eight million entries. The audit can't take the disk that
	// the events need. The server reserves it: with more, it refuses the stream on a small disk.
	auditMaxBytes = 4 << 30
)

// AuditStreamConfig returns the configuration of the stream. It keeps messages that are stored in PostgreSQL,
// because a failover can lose what PostgreSQL has committed last. When it is full, it refuses new messages: readers
// keep the entries and, when they have no room left, refuse requests. Purges are allowed, so that projectors can
// make room by removing old messages whose entries are stored.
func AuditStreamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:       AuditStream,
		Subjects:   []string{AuditSubject},
		Storage:    jetstream.FileStorage,
		Retention:  jetstream.LimitsPolicy,
		Discard:    jetstream.DiscardNew,
		MaxAge:     auditMaxAge,
		MaxBytes:   auditMaxBytes,
		Duplicates: 2 * time.Minute,
		Replicas:   replicas,
		DenyDelete: true,
	}
}

// CheckAuditStream returns one sentence for each setting of a running stream that can lose entries.
func CheckAuditStream(running jetstream.StreamConfig) []string {
	stream := "stream " + running.Name + " "
	limited := running.MaxMsgs > 0 || running.MaxBytes > 0 || running.MaxMsgsPerSubject > 0

	return brokenRules([]streamRule{
		{running.Storage != jetstream.FileStorage, stream +
			"is not stored in files: a restart loses entries that are not in PostgreSQL yet."},
		{running.MaxAge > 0 && running.MaxAge < auditMaxAge, stream + fmt.Sprintf(
			"drops messages after %s: entries that no projector has stored by then are lost. "+
				"Run 'nats stream edit %s --max-age 48h'.", running.MaxAge, running.Name)},
		{limited && running.Discard != jetstream.DiscardNew, stream +
			"drops old messages when it is full: set its discard policy to new."},

		{running.MaxBytes <= 0, stream + fmt.Sprintf(
			"has no limit of its size: entries that no projector stores can fill the disk of the events. "+
				"Run 'nats stream edit %s --max-bytes %d --discard new'.", running.Name, auditMaxBytes)},
		{running.Retention != jetstream.LimitsPolicy, stream +
			"does not keep stored messages: a failover of PostgreSQL can lose their entries."},

		// These settings lose no entry, but readers refuse requests in the end.
		{running.DenyPurge, stream +
			"denies purges: once it is full of stored entries, readers will refuse all requests."},
		{running.NoAck, stream +
			"does not acknowledge messages: readers will refuse all requests once their queues are full."},
	})
}
