package sample

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

func newStream(t *testing.T, partitions int) (jetstream.Stream, *events.Publisher) {
	t.Helper()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	return eventstest.CreateStream(t, js, partitions), events.NewPublisher(js, "test")
}

func storedMessages(t *testing.T, stream jetstream.Stream) int {
	t.Helper()
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(info.State.Msgs)
}

// severalBatches is a company with more than one batch of events.
func severalBatches() *Company { return New(Config{Seed: 3, Systems: 2, Calls: 900}) }

func TestPublish(t *testing.T) {
	t.Parallel()
	stream, publisher := newStream(t, 4)
	var progress []Counts
	onProgress := func(c Counts) { progress = append(progress, c) }
	done, err := Publish(t.Context(), publisher, severalBatches(), 0, onProgress)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(slices.Collect(severalBatches().Events())); done.Events != want || done.Calls != 900 {
		t.Errorf("published = %+v, want %d events of 900 calls", done, want)
	}
	if stored := storedMessages(t, stream); stored != done.Events {
		t.Errorf("stored messages = %d, want %d", stored, done.Events)
	}
	if len(progress) < 2 || progress[len(progress)-1] != done {
		t.Errorf("progress = %+v, want several steps up to %+v", progress, done)
	}
	// The same seed gives the same event IDs, which the stream deduplicates.
	if _, err := Publish(t.Context(), publisher, severalBatches(), 0, onProgress); err != nil {
		t.Error(err)
	}
	if stored := storedMessages(t, stream); stored != done.Events {
		t.Errorf("stored messages after publishing again = %d, want %d", stored, done.Events)
	}
}

func TestPublish_Rate(t *testing.T) {
	t.Parallel()
	_, publisher := newStream(t, 1)
	const rate = 1000
	start := time.Now()
	done, err := Publish(t.Context(), publisher, New(Config{Seed: 3, Systems: 1}), rate, func(Counts) {})
	if got, want := time.Since(start), time.Duration(done.Events)*time.Second/rate; err != nil || got < want {
		t.Errorf("duration = %s, %v, want at least %s", got, err, want)
	}
}

func TestPublish_Cancelled(t *testing.T) {
	t.Parallel()
	stream, publisher := newStream(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done, err := Publish(ctx, publisher, severalBatches(), 0, func(Counts) { cancel() })
	if err == nil || done.Events == 0 {
		t.Errorf("published events = %d, %v, want some and an error", done.Events, err)
	}
	if stored := storedMessages(t, stream); stored != done.Events {
		t.Errorf("stored messages = %d, want %d", stored, done.Events)
	}
}
