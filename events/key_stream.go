package events

import "github.com/nats-io/nats.go/jetstream"

// The stream and its subjects: one for each key.
const (
	KeyStream = "KEYS"

	keySubjectPrefix = "callboard.keys."
)

// KeyStreamConfig returns the configuration of the stream. It keeps one message for each key that has ended,
// without a limit of time.
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
	stream := "stream " + running.Name + " "

	return brokenRules([]streamRule{
		{running.Storage != jetstream.FileStorage, stream +
			"is not stored in files: a restart loses which keys were revoked."},
		{running.Retention != jetstream.LimitsPolicy, stream +
			"does not keep messages that were read: set its retention to limits."},

		{running.MaxAge > 0, stream + "drops messages after " + running.MaxAge.String() +
			": keys that were revoked before can work again after a restore."},
		{running.MaxMsgs > 0 || running.MaxBytes > 0, stream +
			"has a limit of its size: keys whose messages it drops can work again after a restore."},

		{!running.DenyDelete, stream +
			"lets messages be deleted: a key whose message is deleted can work again after a restore."},
		{!running.DenyPurge, stream + "can be purged: keys that were revoked can work again after a restore."},
		{running.NoAck, stream + "does not acknowledge messages: keys can't be revoked."},
	})
}
