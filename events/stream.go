package events

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// The stream's and the transcript bucket's names and settings.
const (
	StreamName        = "PHONES"
	TranscriptBucket  = "PHONE_TRANSCRIPTS"
	DefaultPartitions = 16

	// DuplicateWindow is how long the stream remembers the IDs of messages, and thus ignores a retry of a stored event.
	DuplicateWindow = 2 * time.Minute
)

const publishedSubjects = subjectRoot + ".*.*"

// StreamConfig returns the configuration of a new stream of events, with an identity of its own. Every projection
// is rebuilt from the stream, so it keeps all events, in files, and refuses those that it cannot keep. The number
// of partitions must never change.
func StreamConfig(name string, partitions, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:             name,
		Subjects:         []string{publishedSubjects, ClockSubject},
		SubjectTransform: partitionTransform(partitions),

		Storage:    jetstream.FileStorage,
		Retention:  jetstream.LimitsPolicy,
		Discard:    jetstream.DiscardNew,
		Duplicates: DuplicateWindow,
		Replicas:   replicas,

		// No event can be removed, because every rebuild needs all events.
		DenyDelete: true,
		DenyPurge:  true,
		Metadata:   map[string]string{streamIDKey: uuid.NewString()},
	}
}

// BucketConfig returns the configuration of the object store for the bodies of transcripts that are too large for a
// message.
func BucketConfig(replicas int) jetstream.ObjectStoreConfig {
	return jetstream.ObjectStoreConfig{Bucket: TranscriptBucket, Storage: jetstream.FileStorage, Replicas: replicas}
}

func partitionTransform(partitions int) *jetstream.SubjectTransformConfig {
	return &jetstream.SubjectTransformConfig{
		Source:      publishedSubjects,
		Destination: fmt.Sprintf("%s.{{partition(%d,1)}}.{{wildcard(1)}}.{{wildcard(2)}}", subjectRoot, partitions),
	}
}

// transformShape matches the destinations that the server treats as ours: spaces and capitals may differ.
var transformShape = regexp.MustCompile(`^` + subjectRoot +
	`\.\{\{\s*[Pp]artition\(\s*([1-9][0-9]{0,8})\s*,\s*1\s*\)\s*\}\}` +
	`\.\{\{\s*[Ww]ildcard\(\s*1\s*\)\s*\}\}\.\{\{\s*[Ww]ildcard\(\s*2\s*\)\s*\}\}$`)

// Partitions returns the number of partitions in a stream's subject transform. A transform other than that of
// [StreamConfig] is an error, because [Partition] would then disagree with the server. A mirror has no transform:
// use the configuration of its origin.
func Partitions(cfg jetstream.StreamConfig) (int, error) {
	transform := cfg.SubjectTransform
	if transform == nil {
		return 0, fmt.Errorf("stream %s: no subject transform", cfg.Name)
	}
	destination := transformShape.FindStringSubmatch(transform.Destination)
	if transform.Source != publishedSubjects || destination == nil {
		return 0, fmt.Errorf("stream %s: the subject transform is not %s to %s", cfg.Name,
			publishedSubjects, partitionTransform(DefaultPartitions).Destination)
	}
	return strconv.Atoi(destination[1])
}

// CheckStream returns one sentence for each setting of a running stream that can lose, reorder or misplace events.
// A stream created from [StreamConfig] and a plain mirror with its metadata have no such setting.
func CheckStream(cfg jetstream.StreamConfig) []string {
	faults := brokenRules(slices.Concat(retentionRules(cfg), publishRules(cfg), originRules(cfg)))
	if cfg.Mirror == nil {
		if _, err := Partitions(cfg); err != nil {
			faults = append(faults, err.Error()+": projectors and the server would disagree on an event's partition.")
		}
	}
	if _, err := StreamID(cfg); err != nil {
		faults = append(faults, err.Error()+". Until then, projectors refuse the stream.")
	}
	return faults
}

type streamRule struct {
	broken   bool
	sentence string
}

// brokenRules returns the sentences of the broken rules.
func brokenRules(rules []streamRule) (sentences []string) {
	for _, rule := range rules {
		if rule.broken {
			sentences = append(sentences, rule.sentence)
		}
	}
	return sentences
}

// retentionRules check that stored events stay stored.
func retentionRules(cfg jetstream.StreamConfig) []streamRule {
	return []streamRule{
		{cfg.MaxAge > 0, "max_age is set: events older than " + cfg.MaxAge.String() + " are lost to every rebuild."},
		{cfg.MaxBytes > 0, "max_bytes is set: a full stream loses old events or refuses new ones."},
		{cfg.MaxMsgs > 0, "max_msgs is set: a full stream loses old events or refuses new ones."},
		{cfg.MaxMsgsPerSubject > 0, "max_msgs_per_subject is set: " +
			"a subject has all events of one entity and system, so most are lost."},

		{cfg.Retention != jetstream.LimitsPolicy, "retention is not limits: acknowledged events are deleted."},
		{cfg.Storage != jetstream.FileStorage, "storage is not file: a restart loses every event."},
		{cfg.PersistMode != jetstream.DefaultPersistMode,
			"persist_mode is not default: events are acknowledged before they are written."},
		{cfg.Discard != jetstream.DiscardNew,
			"discard is not new: a full stream deletes its oldest events without an error."},

		{!cfg.DenyDelete, "deny_delete is off: a single event can be deleted."},
		{!cfg.DenyPurge, "deny_purge is off: the stream can be emptied."},
		{cfg.AllowRollup, "allow_rollup_hdrs is on: a publisher's header can remove earlier events."},
		{cfg.AllowDirect, "allow_direct is on: a replica that lags can report that there is no newer event; " +
			"projectors refuse the stream."},
		{cfg.AllowMsgTTL, "allow_msg_ttl is on: a publisher's header can make an event expire."},
	}
}

// publishRules check that each published event is stored once. A window of zero means the server's default of two
// minutes.
func publishRules(cfg jetstream.StreamConfig) []streamRule {
	short := cfg.Duplicates > 0 && cfg.Duplicates < DuplicateWindow

	return []streamRule{
		{short, "duplicate_window is " + cfg.Duplicates.String() + ", below " + DuplicateWindow.String() +
			": a publisher's retry can be stored twice."},
		{cfg.NoAck, "no_ack is on: publishers get no acknowledgement of stored events."},
		{cfg.Sealed, "sealed is on: no event can be stored."},

		{cfg.MaxMsgSize > 0, "max_msg_size is set: publishers check events against the server's max_payload only, " +
			"so the stream refuses some."},
		{cfg.Mirror == nil && !slices.Equal(slices.Sorted(slices.Values(cfg.Subjects)),
			[]string{publishedSubjects, ClockSubject}),
			"subjects is not " + publishedSubjects + " and " + ClockSubject +
				": the stream misses events, lacks the clock that watermarks follow, " +
				"or stores other messages among them."},
	}
}

// originRules check where events come from: only a complete mirror has the sequences and times of its origin.
func originRules(cfg jetstream.StreamConfig) []streamRule {
	m := cfg.Mirror
	partial := m != nil && (m.FilterSubject != "" || m.OptStartSeq > 1 || m.OptStartTime != nil)
	return []streamRule{
		{len(cfg.Sources) > 0, "sources is set: sourced events get new sequences and no common order; use a mirror instead."},
		{partial, "the mirror starts late or filters: it does not have every event."},
		{m != nil && len(m.SubjectTransforms) > 0,
			"the mirror transforms subjects: the subjects of stored events already have their partition."},
	}
}

// EnsureStream creates a stream where none of its name exists, and reports whether it did. It does not change an
// existing stream, whatever its settings are.
func EnsureStream(
	ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig,
) (created bool, err error) {
	_, err = js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(ctx, config)
		created = err == nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else created it meanwhile
		return false, fmt.Errorf("stream %s: %w", config.Name, err)
	}

	return created, nil
}

// EnsureBucket creates the bucket of transcripts where it does not exist, and reports whether it did.
func EnsureBucket(ctx context.Context, js jetstream.JetStream, replicas int) (created bool, err error) {
	_, err = js.ObjectStore(ctx, TranscriptBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = js.CreateObjectStore(ctx, BucketConfig(replicas))
		created = err == nil
	}
	if err != nil {
		return false, fmt.Errorf("bucket %s: %w", TranscriptBucket, err)
	}
	return created, nil
}
