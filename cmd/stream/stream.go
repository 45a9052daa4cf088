// Package stream makes callboard's streams and says what is wrong with those that run.
package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/audit"
	"callboard/readapi/limit"
)

// Wanted is how the streams are made. Partitions are fixed for the stream's life.
type Wanted struct {
	Name       string
	Partitions int
	Replicas   int
	Premium    int // requests a minute of a premium key
}

// Made tells what [Create] made; what it did not make was there, as wanted.
type Made struct {
	Stream bool `json:"streamCreated"`
	Bucket bool `json:"bucketCreated"`
	Audit  bool `json:"auditCreated"`

	// Limits are the limiter's streams by name.
	Limits map[string]bool `json:"limitsCreated"`
}

// Create makes the stream of events, the bucket of transcripts, the audit's stream and the limiter's streams where they are not
// there yet. It changes nothing that is there: a stream of events with other settings than those wanted is an error.
func Create(ctx context.Context, js jetstream.JetStream, w Wanted) (made Made, err error) {
	if made.Stream, err = w.createEvents(ctx, js); err != nil {
		return made, err
	}
	if made.Bucket, err = w.createBucket(ctx, js); err != nil {
		return made, fmt.Errorf("bucket %s: %w", events.TranscriptBucket, err)
	}
	if made.Audit, err = w.createAudit(ctx, js); err != nil {
		return made, fmt.Errorf("stream %s: %w", audit.StreamName, err)
	}
	made.Limits, err = w.createLimits(ctx, js)
	return made, err
}

func (w Wanted) createEvents(ctx context.Context, js jetstream.JetStream) (bool, error) {
	running, err := js.Stream(ctx, w.Name)
	if err == nil {
		return false, w.matches(running.CachedInfo().Config)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(ctx, events.StreamConfig(w.Name, w.Partitions, w.Replicas))
	}
	if err != nil {
		return false, fmt.Errorf("stream %s: %w", w.Name, err)
	}
	return true, nil
}

func (w Wanted) createBucket(ctx context.Context, js jetstream.JetStream) (bool, error) {
	_, err := js.ObjectStore(ctx, events.TranscriptBucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, err
	}
	_, err = js.CreateObjectStore(ctx, events.BucketConfig(w.Replicas))
	return err == nil, err
}

func (w Wanted) createAudit(ctx context.Context, js jetstream.JetStream) (bool, error) {
	return create(ctx, js, audit.StreamConfig(w.Replicas))
}

func (w Wanted) createLimits(ctx context.Context, js jetstream.JetStream) (map[string]bool, error) {
	configs, err := limit.StreamConfigs(w.Premium, w.Replicas)
	if err != nil {
		return nil, err
	}
	made := make(map[string]bool, len(configs))
	for _, c := range configs {
		if made[c.Name], err = create(ctx, js, c); err != nil {
			return made, fmt.Errorf("stream %s: %w", c.Name, err)
		}
	}
	return made, nil
}

// create makes a stream. False: there is one of its name.
func create(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) (bool, error) {
	_, err := js.Stream(ctx, c.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err
	}
	_, err = js.CreateStream(ctx, c)
	return err == nil, err
}

// matches is an error where a running stream is not the one wanted.
func (w Wanted) matches(running jetstream.StreamConfig) error {
	partitions, err := events.Partitions(running)
	switch {
	case err != nil:
		return fmt.Errorf("%w; take another name with --stream", err)
	case partitions != w.Partitions:
		return fmt.Errorf("stream %s exists with %d partitions, not %d, and a stream keeps its number for life: "+
			"say --partitions %d, or take another name with --stream", w.Name, partitions, w.Partitions, partitions)
	case running.Replicas != w.Replicas:
		return fmt.Errorf("stream %s exists with %d replicas, not %d: say --replicas %d, or change it with the NATS tools",
			w.Name, running.Replicas, w.Replicas, running.Replicas)
	}
	return nil
}

// Check says in a sentence each what is unsafe in the settings of the running streams: that of events by its name, and those of
// the rest, with an allowance of premium requests a minute.
func Check(ctx context.Context, js jetstream.JetStream, name string, premium int) ([]string, error) {
	running, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("there is no stream %s: 'callboard stream create' makes it", name)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	config := running.CachedInfo().Config
	faults := events.CheckStream(config)
	limits := func(ctx context.Context, js jetstream.JetStream) ([]string, error) {
		return checkLimits(ctx, js, config, premium)
	}
	for _, check := range []func(context.Context, jetstream.JetStream) ([]string, error){checkBucket, checkAudit, limits} {
		found, err := check(ctx, js)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	return faults, nil
}

func checkAudit(ctx context.Context, js jetstream.JetStream) ([]string, error) {
	const name = audit.StreamName
	running, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return []string{"stream " + name + " is missing: readers soon refuse every request; 'callboard stream create' makes it."}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	return audit.CheckStream(running.CachedInfo().Config), nil
}

func checkBucket(ctx context.Context, js jetstream.JetStream) ([]string, error) {
	const name = events.TranscriptBucket
	bucket, err := js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return []string{"bucket " + name + " is missing: large transcripts can't be published; 'callboard stream create' makes it."}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	status, err := bucket.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	var faults []string
	if ttl := status.TTL(); ttl > 0 {
		faults = append(faults, "bucket "+name+" forgets after "+ttl.String()+": large transcripts are lost to every rebuild.")
	}
	if status.Storage() != jetstream.FileStorage {
		faults = append(faults, "bucket "+name+" is not in files: a restart loses every large transcript.")
	}
	return faults, nil
}

// checkLimits is about the limiter's streams that are there: readers make those that they miss.
func checkLimits(ctx context.Context, js jetstream.JetStream, main jetstream.StreamConfig, premium int) ([]string, error) {
	wanted, err := limit.StreamConfigs(premium, main.Replicas)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, want := range wanted {
		stream, err := js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", want.Name, err)
		}
		running := stream.CachedInfo().Config
		if err := limit.CheckStream(running, want); err != nil {
			faults = append(faults, fmt.Sprintf("stream %s makes readers refuse reports: %s.", want.Name, err))
		}
		if running.Replicas < want.Replicas {
			faults = append(faults, fmt.Sprintf("stream %s is on fewer servers than %s, %d and not %d: while they are away, readers refuse reports; "+
				"change its replicas with the NATS tools.", want.Name, main.Name, running.Replicas, want.Replicas))
		}
	}
	return faults, nil
}
