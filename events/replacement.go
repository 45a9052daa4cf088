package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// closedSubject is the only subject of a closed stream, because a stream must have one. Nobody publishes to it.
func closedSubject(name string) string { return subjectRoot + ".closed-" + name }

// Closed tells whether a stream takes no events, because another one takes or is to take its place.
func Closed(cfg jetstream.StreamConfig) bool {
	return cfg.Mirror == nil && slices.Equal(cfg.Subjects, []string{closedSubject(cfg.Name)})
}

func closedError(name string) string {
	return "stream " + name + " is closed: another stream was adopted in its place, or 'callboard stream adopt' was interrupted: run it again"
}

// CloseStream makes a stream take no more messages, and returns the sequence of its last one, which is a clock message. Publishers get the
// error [jetstream.ErrNoStreamResponse] from then on.
func CloseStream(ctx context.Context, js jetstream.JetStream, name string) (last uint64, err error) {
	// Events that the leader has accepted and not stored yet come before the clock message that is published when it accepts no more.
	if err := setSubjects(ctx, js, name, ClockSubject); err != nil {
		return 0, err
	}
	if _, err := js.PublishMsg(ctx, nats.NewMsg(ClockSubject), jetstream.WithExpectStream(name)); err != nil {
		return 0, fmt.Errorf("last clock message: %w", err)
	}
	if err := setSubjects(ctx, js, name, closedSubject(name)); err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", name, err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}

// reopenTimeout limits the wait for the servers when a replacement has failed.
const reopenTimeout = 30 * time.Second

// ReopenStream makes a closed stream take events and clock messages again. It does so although ctx has ended.
func ReopenStream(ctx context.Context, js jetstream.JetStream, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenTimeout)
	defer cancel()
	if err := setSubjects(ctx, js, name, publishedSubjects, ClockSubject); err != nil {
		return fmt.Errorf("stream %s may take no events: run the command again: %w", name, err)
	}
	return nil
}

func setSubjects(ctx context.Context, js jetstream.JetStream, name string, subjects ...string) error {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	config.Subjects = subjects
	if _, err := js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("subjects of stream %s: %w", name, err)
	}
	return nil
}

// MirrorConfig returns the configuration of a mirror that can take the place of a stream. An empty cluster is that of the server which is asked.
func MirrorConfig(name, origin string, replicas int, cluster string) jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name: name, Mirror: &jetstream.StreamSource{Name: origin}, Storage: jetstream.FileStorage, Replicas: replicas,
		DenyDelete: true, DenyPurge: true,
	}
	if cluster != "" {
		config.Placement = &jetstream.Placement{Cluster: cluster}
	}
	return config
}

// PromotedConfig returns the configuration with which a mirror takes the place of its origin: what [StreamConfig] says, and all other
// settings as they are.
func PromotedConfig(mirror jetstream.StreamConfig, partitions int) jetstream.StreamConfig {
	safe := StreamConfig(mirror.Name, partitions, mirror.Replicas)
	mirror.Mirror, mirror.MirrorDirect = nil, false
	mirror.Subjects, mirror.SubjectTransform = safe.Subjects, safe.SubjectTransform
	mirror.Discard, mirror.Duplicates = safe.Discard, safe.Duplicates
	mirror.DenyDelete, mirror.DenyPurge = safe.DenyDelete, safe.DenyPurge
	return mirror
}

// CopyConfig returns the configuration of a stream that takes copies of another stream's messages, on [CopySubject], until it gets the
// configuration of [StreamConfig].
func CopyConfig(name string, partitions, replicas int) jetstream.StreamConfig {
	config := StreamConfig(name, partitions, replicas)
	config.Subjects = []string{copySubjects(name)}
	config.SubjectTransform.Source = copySubjects(name)
	return config
}

func copySubjects(name string) string { return "callboard.copy." + name + ".*.*" }

// CopySubject returns the subject on which a stream takes the copy of a message with a stored subject. ok is false for a message that is no
// event, such as a clock message.
func CopySubject(name, stored string) (subject string, ok bool) {
	tokens := strings.Split(stored, ".")
	if len(tokens) != 4 || tokens[0] != subjectRoot {
		return "", false
	}
	return strings.Replace(copySubjects(name), "*.*", tokens[2]+"."+tokens[3], 1), true
}

// CopyPartitions returns the number of partitions of a stream that takes copies. ok is false if it takes none.
func CopyPartitions(cfg jetstream.StreamConfig) (partitions int, ok bool) {
	if !slices.Equal(cfg.Subjects, []string{copySubjects(cfg.Name)}) || cfg.SubjectTransform == nil {
		return 0, false
	}
	return transformPartitions(*cfg.SubjectTransform)
}
