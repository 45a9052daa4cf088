package dev

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

// Sample is which calls an instance begins with.
type Sample string

// The samples.
const (
	Live  Sample = "live"  // some weeks of five businesses, and calls that keep arriving
	Small Sample = "small" // some hundred calls of two
	None  Sample = "none"
)

// The samples' seeds differ, so that both can be on one stream, and neither is what people say to simulate. Both have systems
// that record their calls.
const (
	liveSeed  = 20260301
	smallSeed = 20260303
)

func (s Sample) company(until time.Time) *sample.Company {
	switch s {
	case Live:
		return sample.New(sample.Config{Seed: liveSeed, Systems: 5, Calls: 8000, Until: until})
	case Small:
		return sample.New(sample.Config{Seed: smallSeed, Systems: 2, Calls: 300, Until: until})
	default:
		return nil
	}
}

// mark is kept of a sample that the stream has, so that the next start finds the same company, and one that was cut short
// publishes the very same events again.
type mark struct {
	StreamCreated time.Time `json:"streamCreated"`
	Until         time.Time `json:"until"`
	Complete      bool      `json:"complete"`
}

func (i *instance) markPath() string { return i.home.path("sample-" + string(i.Sample) + ".json") }

func (i *instance) readMark(created time.Time) (mark, error) {
	var m mark
	text, err := os.ReadFile(i.markPath())
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && m.StreamCreated.Equal(created) {
		return m, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	m = mark{StreamCreated: created, Until: time.Now().UTC()}
	return m, i.writeMark(m)
}

func (i *instance) writeMark(m mark) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeFile(i.markPath(), text)
}

// publishSample publishes the sample unless the stream has it.
func (i *instance) publishSample(ctx context.Context, created time.Time) error {
	m, err := i.readMark(created)
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
	task := i.display.Start("publishing", "events", int64(sample.Count(i.company).Events))
	publisher := events.NewPublisher(i.publisher.JetStream, eventSource)
	_, err = sample.Publish(ctx, publisher, i.company, 0, func(p sample.Counts) { task.Set(int64(p.Events)) })
	if err != nil {
		return err
	}
	m.Complete = true
	return i.writeMark(m)
}

const eventSource = "callboard/dev"

// writeAudio stores the clips where the sample's recordings say they are, unless they are there.
func (i *instance) writeAudio() error {
	for _, key := range sample.AudioKeys() {
		path := filepath.Join(i.home.path("audio"), filepath.FromSlash(key))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("audio: %w", err)
		}
		clip, _ := sample.Audio(key) // the key is one of its own
		if err := writeFile(path, clip); err != nil {
			return fmt.Errorf("audio: %w", err)
		}
	}
	return nil
}

// callInterval is how often a call ends somewhere in the company.
const callInterval = 3 * time.Second

// live keeps calls arriving until ctx ends.
func (i *instance) live(ctx context.Context) error {
	publisher := events.NewPublisher(i.publisher.JetStream, eventSource)
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
