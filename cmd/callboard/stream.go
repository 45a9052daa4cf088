package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/projector"
	"callboard/readapi/limit"
)

type streamCommand struct {
	Create streamCreateCommand `cmd:"" help:"Create the streams of events, key revocations and expiries, audit and budgets and the bucket of transcripts, with safe settings. Of existing ones, only a stream of events without an identity is changed: it gets one."`
	Check  streamCheckCommand  `cmd:"" help:"Print each setting of the running streams that is unsafe. Exit 1 if there is any."`
}

type streamCreateCommand struct {
	output
	Partitions int            `type:"count" min:"1" default:"16" help:"The number of partitions. It can't be changed later."`
	Replicas   int            `type:"count" min:"1" default:"1" help:"The number of servers that hold a copy: 3 in production."`
	NATS       setting.NATS   `embed:""`
	Stream     setting.Stream `embed:""`
}

// createdStreams tells what 'stream create' created; everything else existed.
type createdStreams struct {
	Created  []string `json:"created"`       // names of streams, and of the bucket
	Identity bool     `json:"identityAdded"` // to a stream of events that existed
}

// note notes a stream that is created now.
func (c *createdStreams) note(name string, created bool) {
	if created {
		c.Created = append(c.Created, name)
	}
}

// Run creates what is missing.
func (c *streamCreateCommand) Run(ctx context.Context, streams run.Streams) error {
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		created, err := c.createWithRetries(ctx, js, streams.Err)
		if err != nil {
			return err
		}
		return c.print(streams.Out, created, c.lines(created)...)
	})
}

// leaderTimeout is for how long 'stream create' waits for leaders: the servers of a cluster that has just started elect
// them.
const leaderTimeout = time.Minute

// createWithRetries repeats what no leader has answered. It changes nothing that is there, so it may run again.
func (c *streamCreateCommand) createWithRetries(
	ctx context.Context, js jetstream.JetStream, out io.Writer,
) (created createdStreams, err error) {
	created.Created = []string{}
	for began := time.Now(); ; projector.Pause(ctx, time.Second) {
		err = c.create(ctx, js, &created)
		if err == nil || ctx.Err() != nil || !withoutLeader(err) || time.Since(began) > leaderTimeout {
			return created, err
		}
		fmt.Fprintln(out, "JetStream does not answer yet, trying again:", err)
	}
}

// withoutLeader reports whether a request to JetStream got no answer, or the cluster has no leader now.
func withoutLeader(err error) bool {
	const clusterUnavailable = 10008
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &api) && api.ErrorCode == clusterUnavailable
}

// create creates what is missing, and notes it beside what an earlier attempt has created.
func (c *streamCreateCommand) create(ctx context.Context, js jetstream.JetStream, created *createdStreams) error {
	if err := c.createEvents(ctx, js, created); err != nil {
		return err
	}

	bucket, err := events.EnsureBucket(ctx, js, c.Replicas)
	if err != nil {
		return err
	}
	created.note(events.TranscriptBucket, bucket)
	return ensureStreams(ctx, js, created,
		events.KeyStreamConfig(c.Replicas), events.AuditStreamConfig(c.Replicas), limit.StreamConfig(c.Replicas))
}

// ensureStreams creates the streams that are missing, and notes them. The first failure ends it.
func ensureStreams(
	ctx context.Context, js jetstream.JetStream, created *createdStreams, configs ...jetstream.StreamConfig,
) error {
	for _, config := range configs {
		now, err := events.EnsureStream(ctx, js, config)
		if err != nil {
			return err
		}
		created.note(config.Name, now)
	}
	return nil
}

// createEvents creates the stream of events, or gives an existing one an identity unless it has one. An existing stream
// with other settings than the flags say is an error.
func (c *streamCreateCommand) createEvents(ctx context.Context, js jetstream.JetStream, created *createdStreams) error {
	name := c.Stream.Name
	if err := ensureStreams(ctx, js, created, events.StreamConfig(name, c.Partitions, c.Replicas)); err != nil {
		return err
	}

	// The stream may have existed before, with other partitions or replicas.
	running, err := openStream(ctx, js, name)
	if err == nil {
		err = c.matches(running.CachedInfo().Config)
	}
	if err != nil {
		return err
	}

	identified, err := events.AddStreamID(ctx, js, name)
	created.Identity = created.Identity || identified
	return err
}

func (c *streamCreateCommand) matches(running jetstream.StreamConfig) error {
	partitions, err := events.Partitions(running)
	switch {
	case err != nil:
		return fmt.Errorf("%w\nChoose another name with --stream", err)

	case partitions != c.Partitions:
		return fmt.Errorf("stream %s exists with %d partitions, not %d, and the number can't be changed\n"+
			"Run the command with --partitions %d, or choose another name with "+
			"--stream", running.Name, partitions, c.Partitions, partitions)

	case running.Replicas != c.Replicas:
		return fmt.Errorf("stream %s exists with %d replicas, not %d\n"+
			"Run the command with --replicas %d, or run 'nats stream edit %s --replicas %d'",
			running.Name, running.Replicas, c.Replicas, running.Replicas, running.Name, c.Replicas)
	}

	return nil
}

func (c *streamCreateCommand) lines(created createdStreams) []string {
	lines := []string{fmt.Sprintf("Stream %s has %d partitions and %d replicas.", c.Stream.Name, c.Partitions, c.Replicas)}
	if created.Identity {
		lines = append(lines, "It has an identity now.")
	}
	if len(created.Created) == 0 {
		return append(lines, "All streams and the bucket existed.")
	}
	return append(lines, "Created: "+strings.Join(created.Created, ", ")+".")
}

type streamCheckCommand struct {
	output
	NATS   setting.NATS   `embed:""`
	Stream setting.Stream `embed:""`
}

// streamCheck is what a check found.
type streamCheck struct {
	Stream string   `json:"stream"`
	Unsafe []string `json:"unsafe"` // sentences
}

// Run prints what is unsafe, and fails if anything is.
func (c *streamCheckCommand) Run(ctx context.Context, streams run.Streams) error {
	return withStream(c.NATS, func(js jetstream.JetStream) error {
		found, err := c.check(ctx, js)
		if err != nil {
			return err
		}

		lines := found.Unsafe
		if len(lines) == 0 {
			lines = []string{"Stream " + found.Stream + " is safe."}
		}

		err = c.print(streams.Out, found, lines...)
		if err == nil && len(found.Unsafe) > 0 {
			err = run.ErrFailed
		}
		return err
	})
}

func (c *streamCheckCommand) check(ctx context.Context, js jetstream.JetStream) (streamCheck, error) {
	found := streamCheck{Stream: c.Stream.Name, Unsafe: []string{}}
	running, err := openStream(ctx, js, found.Stream)
	if err != nil {
		return found, err
	}
	config := running.CachedInfo().Config
	found.Unsafe = append(found.Unsafe, events.CheckStream(config)...)

	// What is beside the stream of events.
	for _, s := range supportStreams() {
		unsafe, err := s.check(ctx, js, config)
		if err != nil {
			return found, err
		}
		found.Unsafe = append(found.Unsafe, unsafe...)
	}
	return found, nil
}

// bucketStream is the stream in which JetStream keeps the objects of the bucket.
const bucketStream = "OBJ_" + events.TranscriptBucket

// supportStream is a stream beside the stream of events.
type supportStream struct {
	name    string
	title   string // as operators know it
	missing string // what follows where it does not exist; empty: readers create it

	// What follows without its server where it has fewer replicas than the stream of events; empty: nothing.
	fewerReplicas string
	faults        func(jetstream.StreamConfig) []string
}

func supportStreams() []supportStream {
	return []supportStream{
		{
			name: bucketStream, title: "bucket " + events.TranscriptBucket, missing: "large transcripts can't be published",
			faults: bucketFaults,
		},

		{
			name: events.KeyStream, title: "stream " + events.KeyStream,
			missing:       "revoked keys can work again after a failover of PostgreSQL",
			fewerReplicas: "'callboard keys revoke' fails after it has revoked the key", faults: events.CheckKeyStream,
		},

		{
			name: events.AuditStream, title: "stream " + events.AuditStream, missing: "readers will soon refuse all requests",
			faults: events.CheckAuditStream,
		},

		{name: limit.StreamName, fewerReplicas: "readers refuse reports", faults: limitFaults},
	}
}

// bucketFaults are about a bucket that does not keep its objects as long as the stream keeps its messages.
func bucketFaults(running jetstream.StreamConfig) (unsafe []string) {
	const name = "bucket " + events.TranscriptBucket
	if running.MaxAge > 0 {
		unsafe = append(unsafe, fmt.Sprintf("%s deletes objects after %s, "+
			"so rebuilds lose large transcripts.", name, running.MaxAge))
	}
	if running.Storage != jetstream.FileStorage {
		unsafe = append(unsafe, name+" is not stored in files, so a restart loses all large transcripts.")
	}
	if running.MaxBytes > 0 {
		unsafe = append(unsafe, name+" has max_bytes set: a full bucket loses old large transcripts or refuses new ones.")
	}
	return unsafe
}

func limitFaults(running jetstream.StreamConfig) []string {
	err := limit.CheckStream(running)
	if err == nil {
		return nil
	}
	return []string{fmt.Sprintf("stream %s makes readers refuse reports: "+
		"%s.", running.Name, strings.TrimSuffix(err.Error(), "."))}
}

// check returns what is unsafe. main is the stream of events.
func (s supportStream) check(
	ctx context.Context, js jetstream.JetStream, main jetstream.StreamConfig,
) ([]string, error) {
	stream, err := openStream(ctx, js, s.name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && s.missing == "":
		return nil, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return []string{s.title + " is missing, so " + s.missing + ". Run 'callboard stream create'."}, nil
	case err != nil:
		return nil, err
	}

	running := stream.CachedInfo().Config
	unsafe := s.faults(running)

	// The stream of events survives the loss of a server that this stream does not survive.
	if s.fewerReplicas != "" && running.Replicas < main.Replicas {
		unsafe = append(unsafe, fmt.Sprintf("stream %[1]s has %[2]d replicas, %[3]s has %[4]d: without its server, %[5]s. "+
			"Run 'nats stream edit %[1]s --replicas %[4]d'.",
			s.name, running.Replicas, main.Name, main.Replicas, s.fewerReplicas))
	}

	return unsafe, nil
}
