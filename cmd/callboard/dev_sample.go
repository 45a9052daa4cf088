//go:build !operator

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"callboard/events"
	"callboard/events/sample"
)

// devSample is the name of a sample of calls.
type devSample string

// The samples.
const (
	liveSample  devSample = "live"  // weeks of calls of five businesses, and new calls while the instance runs
	smallSample devSample = "small" // some hundred calls of two businesses
	noSample    devSample = "none"
)

// The seeds differ from each other and from likely arguments of 'callboard simulate', so that all can be on one stream.
const (
	liveSeed  = 20260301
	smallSeed = 20260303
)

func (s devSample) company(until time.Time) *sample.Company {
	switch s {
	case liveSample:
		return sample.New(sample.Config{Seed: liveSeed, Systems: 5, Calls: 8000, Until: until})
	case smallSample:
		return sample.New(sample.Config{Seed: smallSeed, Systems: 2, Calls: 300, Until: until})
	default:
		return nil
	}
}

// publishSample publishes the sample unless the stream, which was created at an instant, has it already. A start
// after an interruption publishes all events again: it generates the same company, so they have the same versions.
func (i *devInstance) publishSample(ctx context.Context, created time.Time) error {
	i.company = i.Sample.company(created)
	if i.company == nil {
		return nil
	}
	if err := i.writeAudio(); err != nil {
		return err
	}

	// A file tells of which stream the sample is complete.
	path, stream := i.dir.path("sample-"+string(i.Sample)), created.UTC().Format(time.RFC3339Nano)
	if complete, err := os.ReadFile(path); err == nil && string(complete) == stream {
		return nil
	}

	publisher := events.NewPublisher(i.publisher.JetStream, devEventSource)
	_, err := sample.Publish(ctx, publisher, i.company, 0, func(p sample.Counts) {
		i.display.Show("publishing", "calls", int64(p.Calls), int64(i.company.Calls()))
	})
	if err != nil {
		return err
	}

	// The file comes last: after an interruption the next start publishes again.
	return replaceFile(path, []byte(stream))
}

const devEventSource = "callboard/dev"

// writeAudio writes the audio file that the sample's recordings refer to.
func (i *devInstance) writeAudio() error {
	path := filepath.Join(i.dir.path("audio"), filepath.FromSlash(sample.AudioKey))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = replaceFile(path, sample.Audio())
	}
	if err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	return nil
}

// callInterval is the time between the ends of live calls.
const callInterval = 3 * time.Second

// publishLiveCalls publishes a call per interval until ctx ends.
func (i *devInstance) publishLiveCalls(ctx context.Context) error {
	publisher := events.NewPublisher(i.publisher.JetStream, devEventSource)
	calls := i.company.Live()
	tick := time.NewTicker(callInterval)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			// The end of ctx can interrupt a publication. That is no failure.
			if err := publisher.Publish(ctx, calls.Next(now, 1)...); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}
