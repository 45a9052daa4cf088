package events

import (
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// The stream and its subjects: one for each key.
const (
	KeyStream = "KEYS"

	keySubjectPrefix = "callboard.keys."
)

// KeyStreamConfig returns the configuration of the stream. It keeps one message for each key that has ended, without a limit of time.
func KeyStreamConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              KeyStream,
		Subjects:          []string{keySubjectPrefix + "*"},
		Storage:           jetstream.FileStorage,
		Retention:         jetstream.LimitsPolicy,
		MaxMsgsPerSubject: 1,
		Replicas:          replicas,
		DenyDelete:        true,
		DenyPurge:         true,
	}
}

// CheckKeyStream returns one sentence for each setting of a running stream that can lose entries.
func CheckKeyStream(running jetstream.StreamConfig) []string {
	var faults []string
	unsafe := func(is bool, format string, values ...any) {
		if is {
			faults = append(faults, "stream "+running.Name+" "+fmt.Sprintf(format, values...))
		}
	}
	unsafe(running.Storage != jetstream.FileStorage, "is not stored in files: a restart loses which keys were revoked.")
	unsafe(running.Retention != jetstream.LimitsPolicy, "does not keep messages that were read: set its retention to limits.")
	unsafe(running.MaxAge > 0, "drops messages after %s: keys that were revoked before can work again after a restore.", running.MaxAge)
	unsafe(running.MaxMsgs > 0 || running.MaxBytes > 0, "has a limit of its size: keys whose messages it drops can work again after a restore.")
	unsafe(!running.DenyDelete, "lets messages be deleted: a key whose message is deleted can work again after a restore.")
	unsafe(!running.DenyPurge, "can be purged: keys that were revoked can work again after a restore.")
	unsafe(running.NoAck, "does not acknowledge messages: keys can't be revoked.")
	return faults
}
