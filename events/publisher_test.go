package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// published starts a server with the stream and returns a function that reads back what the stream holds, in order.
func published(t *testing.T, options ...eventstest.Option) (*eventstest.Server, jetstream.JetStream, func() []events.Event) {
	t.Helper()
	server := eventstest.NewServer(t, options...)
	js := eventstest.JetStream(t, server.URL())
	stream := eventstest.CreateStream(t, js, 4)
	return server, js, func() []events.Event {
		t.Helper()
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stored := make([]events.Event, 0, info.State.Msgs)
		for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
			m, err := stream.GetMsg(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			e, err := events.Decode(events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data})
			if err != nil {
				t.Fatalf("sequence %d: %v", seq, err)
			}
			stored = append(stored, e)
		}
		return stored
	}
}

// representatives are n versions of each of a few entities, interleaved.
func representatives(n int) []events.Event {
	system := uuid.New()
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	var batch []events.Event
	for version := range n {
		for _, id := range ids {
			batch = append(batch, events.Changed(&events.Representative{
				ID: id, PhoneSystemID: system, Version: int64(version + 1), Name: fmt.Sprint("version ", version+1), Status: "active",
			}))
		}
	}
	return batch
}

func TestPublisher_FillsInAttributes(t *testing.T) {
	_, js, stored := published(t)
	e := decoded(t, "call.changed")
	e.ID, e.Source, e.Time = "", "", time.Time{}
	if err := events.NewPublisher(js, "/pbx/7").Publish(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got := stored()
	if len(got) != 1 {
		t.Fatalf("%d events stored", len(got))
	}
	if _, err := uuid.Parse(got[0].ID); err != nil || got[0].Source != "/pbx/7" || time.Since(got[0].Time) > time.Minute {
		t.Errorf("stored with id %q, source %q, time %s", got[0].ID, got[0].Source, got[0].Time)
	}
	if got[0].Identity != e.Identity {
		t.Errorf("stored %+v", got[0].Identity)
	}
	if e.ID != "" {
		t.Error("the caller's event was changed")
	}
}

func TestPublisher_StoresARetryOnce(t *testing.T) {
	_, js, stored := published(t)
	publisher := events.NewPublisher(js, "/pbx")
	e := decoded(t, "call.changed")
	for range 3 {
		if err := publisher.Publish(t.Context(), e, e); err != nil {
			t.Fatal(err)
		}
	}
	if got := stored(); len(got) != 1 || got[0].ID != e.ID || got[0].Source != e.Source || !got[0].Time.Equal(e.Time) {
		t.Errorf("stored %+v", got)
	}
}

func TestPublisher_KeepsOrderPerSubject(t *testing.T) {
	_, js, stored := published(t)
	batch := representatives(300)
	if err := events.NewPublisher(js, "/pbx", events.InFlight(64)).Publish(t.Context(), batch...); err != nil {
		t.Fatal(err)
	}
	got := stored()
	if len(got) != len(batch) {
		t.Fatalf("%d events stored, want %d", len(got), len(batch))
	}
	for i := range got {
		if got[i].Identity != batch[i].Identity {
			t.Fatalf("event %d is %+v, want %+v", i, got[i].Identity, batch[i].Identity)
		}
	}
}

func TestPublisher_SurvivesRestart(t *testing.T) {
	server, js, stored := published(t)
	batch := representatives(2000)
	done := make(chan error, 1)
	go func() { done <- events.NewPublisher(js, "/pbx", events.InFlight(32)).Publish(t.Context(), batch...) }()
	for js.Conn().Stats().OutMsgs < 500 {
		if err := js.Conn().Flush(); err != nil {
			t.Fatal(err)
		}
	}
	server.Restart()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	counts := map[events.Identity]int{}
	for _, e := range stored() {
		counts[e.Identity]++
	}
	for _, e := range batch {
		if counts[e.Identity] != 1 {
			t.Fatalf("%+v is stored %d times", e.Identity, counts[e.Identity])
		}
	}
}

func TestPublisher_SaysWhatIsNotAcknowledged(t *testing.T) {
	server := eventstest.NewServer(t)
	js := eventstest.JetStream(t, server.URL())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	batch := representatives(1)
	batch[1].ID = "second"
	err := events.NewPublisher(js, "/pbx").Publish(ctx, batch...)
	var unacknowledged *events.UnacknowledgedError
	if !errors.As(err, &unacknowledged) || len(unacknowledged.Events) != 3 {
		t.Fatalf("without a stream: %v", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("the cause is lost: %v", err)
	}
	subject := events.Subject(batch[1].System, batch[1].Entity)
	if !strings.Contains(err.Error(), "second callboard.representative.changed "+subject+",") {
		t.Errorf("the text names no event: %v", err)
	}
	if unacknowledged.Events[0].ID == "" {
		t.Error("the events have no IDs to publish them again under")
	}
}

func TestPublisher_NamesOnlyTheRefused(t *testing.T) {
	_, js, stored := published(t)
	cfg := events.StreamConfig(events.StreamName, 4, 1)
	cfg.MaxMsgSize = 1500
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	batch := representatives(1)
	large := *batch[1].State.(*events.Representative)
	large.Name = strings.Repeat("n", 2000)
	batch[1] = events.Changed(&large)
	err := events.NewPublisher(js, "/pbx").Publish(t.Context(), batch...)
	var unacknowledged *events.UnacknowledgedError
	if !errors.As(err, &unacknowledged) || len(unacknowledged.Events) != 1 || unacknowledged.Events[0].Identity != batch[1].Identity {
		t.Fatalf("error %v", err)
	}
	if got := stored(); len(got) != 2 {
		t.Errorf("%d events stored", len(got))
	}
}

func TestPublisher_RefusesBeforeSending(t *testing.T) {
	_, js, stored := published(t, eventstest.MaxPayload(64<<10))
	good := decoded(t, "call.changed")
	huge := *good.State.(*events.Call)
	huge.To = strings.Repeat("5", 70<<10)
	nul := huge
	nul.To = "a\x00b"
	elsewhere := *decoded(t, "transcript.changed").State.(*events.Transcript)
	elsewhere.Text = events.Some(strings.Repeat("long ", 14<<10))
	for name, c := range map[string]struct {
		state events.State
		says  string
	}{
		"too large":  {&huge, "over the limit of 61440"},
		"unreadable": {&nul, "/to: must not contain NUL"},
	} {
		err := events.NewPublisher(js, "/pbx").Publish(t.Context(), good, events.Changed(c.state))
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "event 2 of 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := stored(); len(got) != 0 {
		t.Errorf("%d events stored", len(got))
	}
	if err := js.DeleteObjectStore(t.Context(), events.TranscriptBucket); err != nil {
		t.Fatal(err)
	}
	err := events.NewPublisher(js, "/pbx").Publish(t.Context(), good, events.Changed(&elsewhere))
	if !errors.Is(err, jetstream.ErrBucketNotFound) || len(stored()) != 0 {
		t.Errorf("without a bucket: %v", err)
	}
}

func TestPublisher_GivesUpOnClosedConnection(t *testing.T) {
	s := eventstest.NewServer(t)
	js := eventstest.JetStream(t, s.URL())
	js.Conn().Close()
	err := events.NewPublisher(js, "/pbx").Publish(t.Context(), representatives(2)...)
	var unacknowledged *events.UnacknowledgedError
	if !errors.As(err, &unacknowledged) || len(unacknowledged.Events) != 6 {
		t.Errorf("error %v", err)
	}
}
