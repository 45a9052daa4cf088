package events_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// A mirror that takes the place of its origin has the same messages and gives new ones the next sequences and the same partitions.
func TestPromotedConfig(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	ctx := t.Context()
	if _, err := js.CreateStream(ctx, events.StreamConfig("PHONES", 8, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, events.MirrorConfig("PHONES2", "PHONES", 1, "")); err != nil {
		t.Fatal(err)
	}
	const subject = "phones.6b0ad3a3-7a3c-4a2d-9a39-0a4e8d4a5f10.call-log"
	before, err := js.Publish(ctx, subject, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := events.CloseStream(ctx, js, "PHONES")
	if err != nil {
		t.Fatal(err)
	}
	if last != before.Sequence+1 {
		t.Errorf("the closed stream ends at %d, want %d", last, before.Sequence+1)
	}
	if _, err := js.Publish(ctx, subject, nil, jetstream.WithRetryAttempts(0)); !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("publishing to a closed stream: error = %v, want %v", err, jetstream.ErrNoStreamResponse)
	}
	copied, err := js.Stream(ctx, "PHONES2")
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "the mirror has all messages", func() bool {
		info, err := copied.Info(ctx)
		return err == nil && info.State.LastSeq == last
	})
	promoted := events.PromotedConfig(copied.CachedInfo().Config, 8)
	if faults := events.CheckStream(promoted); len(faults) > 0 {
		t.Errorf("unsafe settings: %v", faults)
	}
	if _, err := js.UpdateStream(ctx, promoted); err != nil {
		t.Fatal(err)
	}
	after, err := js.Publish(ctx, subject, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after.Stream != "PHONES2" || after.Sequence != last+1 {
		t.Errorf("acknowledgement = %+v, want sequence %d of PHONES2", after, last+1)
	}
	first, err := copied.GetMsg(ctx, before.Sequence)
	if err != nil {
		t.Fatal(err)
	}
	second, err := copied.GetMsg(ctx, after.Sequence)
	if err != nil {
		t.Fatal(err)
	}
	if first.Subject != second.Subject {
		t.Errorf("subjects = %s and %s, want the same partition", first.Subject, second.Subject)
	}
	if err := events.ReopenStream(ctx, js, "PHONES"); err == nil {
		t.Error("the closed stream was opened although another one has its subjects")
	}
	old, err := js.Stream(ctx, "PHONES")
	if err != nil {
		t.Fatal(err)
	}
	if !events.Closed(old.CachedInfo().Config) {
		t.Errorf("subjects = %v, want a closed stream", old.CachedInfo().Config.Subjects)
	}
}
