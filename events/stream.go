package events

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The stream's and the transcript bucket's names and settings.
const (
	StreamName        = "PHONES"
	TranscriptBucket  = "PHONE_TRANSCRIPTS"
	DefaultPartitions = 16

	// DuplicateWindow is how long the stream remembers the ID of a message, and so how long a retry is no second event.
	DuplicateWindow = 2 * time.Minute
)

const publishedSubjects = subjectRoot + ".*.*"

// StreamConfig is the configuration of the stream of events: the record from which every projection is rebuilt, so it keeps
// everything, in files, and refuses what it can't keep. The number of partitions is fixed for the stream's life.
func StreamConfig(name string, partitions, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:             name,
		Subjects:         []string{publishedSubjects},
		SubjectTransform: partitionTransform(partitions),
		Storage:          jetstream.FileStorage,
		Retention:        jetstream.LimitsPolicy,
		Discard:          jetstream.DiscardNew,
		Duplicates:       DuplicateWindow,
		Replicas:         replicas,
		DenyDelete:       true,
		DenyPurge:        true,
	}
}

// BucketConfig is the configuration of the object store that holds the bodies of transcripts too large for a message.
func BucketConfig(replicas int) jetstream.ObjectStoreConfig {
	return jetstream.ObjectStoreConfig{Bucket: TranscriptBucket, Storage: jetstream.FileStorage, Replicas: replicas}
}

func partitionTransform(partitions int) *jetstream.SubjectTransformConfig {
	return &jetstream.SubjectTransformConfig{
		Source:      publishedSubjects,
		Destination: fmt.Sprintf("%s.{{partition(%d,1)}}.{{wildcard(1)}}.{{wildcard(2)}}", subjectRoot, partitions),
	}
}

// transformShape is the destination as the server reads it, spaces and capitals included.
var transformShape = regexp.MustCompile(`^` + subjectRoot +
	`\.\{\{\s*[Pp]artition\(\s*([1-9][0-9]{0,8})\s*,\s*1\s*\)\s*\}\}` +
	`\.\{\{\s*[Ww]ildcard\(\s*1\s*\)\s*\}\}\.\{\{\s*[Ww]ildcard\(\s*2\s*\)\s*\}\}$`)

// Partitions reads the number of partitions from a stream's transform. It is an error where the transform isn't the one of
// [StreamConfig], since [Partition] would then disagree with the server. A mirror has no transform: ask its origin.
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
