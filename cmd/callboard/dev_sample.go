//go:build !operator

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

// sampleState is stored with a published sample: the next start generates the same company, and publishes the same
// events again if the last start was interrupted.
type sampleState struct {
	StreamCreated time.Time `json:"streamCreated"`
	Until         time.Time `json:"until"`
	Complete      bool      `json:"complete"`
}

func (i *devInstance) sampleStatePath() string {
	return i.dir.path("sample-" + string(i.Sample) + ".json")
}

func (i *devInstance) readSampleState(created time.Time) (sampleState, error) {
	var m sampleState
	text, err := os.ReadFile(i.sampleStatePath())
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && m.StreamCreated.Equal(created) {
		return m, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	m = sampleState{StreamCreated: created, Until: time.Now().UTC()}
	return m, i.writeSampleState(m)
}

func (i *devInstance) writeSampleState(m sampleState) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(i.sampleStatePath(), text)
}

// publishSample publishes the sample unless the stream has it already.
func (i *devInstance) publishSample(ctx context.Context, created time.Time) error {
	m, err := i.readSampleState(created)
	if err != nil {
		return err
	}
	i.company = i.Sample.company(m.Until)
	if i.company == nil {
		return nil
	}
	if err := i.writeAudio(); err != nil {
		return err
	}
	if m.Complete {
		return nil
	}

	// A start after an interruption publishes all events again: they have the same versions.
	task := i.display.Start("publishing", "calls", int64(i.company.Calls()))
	publisher := events.NewPublisher(i.publisher.JetStream, devEventSource)
	_, err = sample.Publish(ctx, publisher, i.company, 0, func(p sample.Counts) { task.Set(int64(p.Calls)) })
	if err != nil {
		return err
	}
	m.Complete = true
	return i.writeSampleState(m)
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
			if err := publisher.Publish(ctx, calls.Next(now, 1)...); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}
