package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// harness is a NATS server with the stream and the bucket of production, and 4 partitions.
type harness struct {
	*testing.T
	server *eventstest.Server
	js     jetstream.JetStream
	stream jetstream.Stream
}

// newHarness returns the harness of a test that runs beside others.
func newHarness(t *testing.T, options ...eventstest.Option) *harness {
	t.Helper()
	t.Parallel()
	server := eventstest.NewServer(t, options...)
	js := eventstest.JetStream(t, server.URL())
	return &harness{T: t, server: server, js: js, stream: eventstest.CreateStream(t, js, 4)}
}

// stored returns the events in the stream, in order.
func (h *harness) stored() []events.Event {
	h.Helper()
	info, err := h.stream.Info(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	stored := make([]events.Event, 0, info.State.Msgs)
	for sequence := uint64(1); sequence <= info.State.LastSeq; sequence++ {
		m, err := h.stream.GetMsg(h.Context(), sequence)
		if err != nil {
			h.Fatal(err)
		}
		e, err := events.Decode(events.Message{Subject: m.Subject, Header: m.Header, Data: m.Data})
		if err != nil {
			h.Fatalf("sequence %d: %v", sequence, err)
		}
		stored = append(stored, e)
	}
	return stored
}

// publish publishes with these options and fails the test on an error.
func (h *harness) publish(e events.Event, options ...events.PublisherOption) {
	h.Helper()
	if err := events.NewPublisher(h.js, "/pbx", options...).Publish(h.Context(), e); err != nil {
		h.Fatal(err)
	}
}

// representatives returns n versions each of three entities, interleaved.
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

// unacknowledged returns the events of an UnacknowledgedError. It fails the test unless err is one with n events.
func unacknowledged(t *testing.T, err error, n int) []events.Event {
	t.Helper()
	var unacknowledged *events.UnacknowledgedError
	if !errors.As(err, &unacknowledged) || len(unacknowledged.Events) != n {
		t.Fatalf("error = %v, want %d unacknowledged events", err, n)
	}
	return unacknowledged.Events
}

func TestPublisher_SetsMissingAttributes(t *testing.T) {
	h := newHarness(t)
	e := decoded(t, "call.changed")
	e.ID, e.Source, e.Time = "", "", time.Time{}
	h.publish(e)
	stored := h.stored()
	if len(stored) != 1 {
		t.Fatalf("stored events = %d, want 1", len(stored))
	}
	got := stored[0]
	if _, err := uuid.Parse(got.ID); err != nil || got.Source != "/pbx" || time.Since(got.Time) > time.Minute {
		t.Errorf("id = %q, source = %q, time = %s, want a UUID, /pbx and now", got.ID, got.Source, got.Time)
	}
	if got.Identity != e.Identity {
		t.Errorf("identity = %+v, want %+v", got.Identity, e.Identity)
	}
	if e.ID != "" {
		t.Errorf("id of the caller's event = %q, want it unchanged", e.ID)
	}
}

// Two changes under one ID would be one message, and the second change would be lost.
func TestPublisher_RefusesAnIDTwice(t *testing.T) {
	h := newHarness(t)
	publisher := events.NewPublisher(h.js, "/pbx")
	first, second := decoded(t, "call.changed"), decoded(t, "representative.changed")
	second.ID = first.ID

	err := publisher.Publish(t.Context(), first, second)
	if want := "event 1 has the same source and ID, " + first.ID; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v of one call, want it to contain %q", err, want)
	}
	if got := h.stored(); len(got) != 0 {
		t.Errorf("stored events = %d after the refusal, want none", len(got))
	}

	h.publish(first)
	third := decoded(t, "group.changed")
	err = publisher.Publish(t.Context(), second, third)
	if left := unacknowledged(t, err, 1); left[0].Identity != second.Identity || !errors.Is(err, events.ErrDuplicate) {
		t.Errorf("error = %v of the next call, want %v for %+v", err, events.ErrDuplicate, second.Identity)
	}
	got := h.stored()
	if len(got) != 2 || got[0].Identity != first.Identity || got[1].Identity != third.Identity {
		t.Errorf("stored events = %+v, want %+v and %+v", got, first.Identity, third.Identity)
	}
}

// An ID is unique for its source: services that count their events from 1 do not know of each other.
func TestPublisher_StoresAnIDOfEachSource(t *testing.T) {
	h := newHarness(t)
	call, transcript := decoded(t, "call.changed"), decoded(t, "transcript.changed")
	call.ID, call.Source = "1001", "/pbx/calls"
	transcript.ID, transcript.Source = "1001", "/transcriber"
	h.publish(call)
	h.publish(transcript)
	if got := len(h.stored()); got != 2 {
		t.Errorf("stored events = %d, want 2", got)
	}
}

// The acknowledgement of the first attempt is lost, and that of the second one says that the event is a duplicate.
func TestPublisher_AcceptsTheDuplicateOfItsOwnAttempt(t *testing.T) {
	h := newHarness(t)
	proxy := eventstest.NewProxy(t, h.server.URL())
	js := eventstest.JetStream(t, "nats://"+proxy.Addr())
	restore := proxy.LoseReplies()
	done := make(chan error, 1)
	go func() { done <- events.NewPublisher(js, "/pbx").Publish(t.Context(), decoded(t, "call.changed")) }()
	eventstest.Eventually(t, "the event is stored", func() bool { return len(h.stored()) == 1 })
	restore()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := len(h.stored()); got != 1 {
		t.Errorf("stored events = %d, want 1", got)
	}
}

func TestPublisher_KeepsTheOrder(t *testing.T) {
	h := newHarness(t)
	batch := representatives(300)
	if err := events.NewPublisher(h.js, "/pbx").Publish(t.Context(), batch...); err != nil {
		t.Fatal(err)
	}
	got := h.stored()
	if len(got) != len(batch) {
		t.Fatalf("stored events = %d, want %d", len(got), len(batch))
	}
	for i := range got {
		if got[i].Identity != batch[i].Identity {
			t.Fatalf("event %d = %+v, want %+v", i, got[i].Identity, batch[i].Identity)
		}
	}
}

func TestPublisher_SurvivesARestartOfTheServer(t *testing.T) {
	h := newHarness(t)
	var batch []events.Event
	var restarted atomic.Bool
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !restarted.Load() {
			next := representatives(100)
			batch = append(batch, next...)
			err = events.NewPublisher(h.js, "/pbx").Publish(t.Context(), next...)
		}
		done <- err
	}()
	eventstest.Eventually(t, "500 messages sent", func() bool { return h.js.Conn().Stats().OutMsgs >= 500 })
	h.server.Restart()
	restarted.Store(true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	counts := map[events.Identity]int{}
	for _, e := range h.stored() {
		counts[e.Identity]++
	}
	for _, e := range batch {
		if counts[e.Identity] != 1 {
			t.Fatalf("%+v is stored %d times, want once", e.Identity, counts[e.Identity])
		}
	}
}

func TestPublisher_ReportsUnacknowledgedEvents(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL()) // without a stream
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	batch := representatives(1)
	batch[1].ID = "second"
	done := make(chan error, 1)
	go func() { done <- events.NewPublisher(js, "/pbx").Publish(ctx, batch...) }()
	eventstest.Eventually(t, "a second attempt", func() bool { return js.Conn().Stats().OutMsgs > uint64(len(batch)) })
	cancel()
	err := <-done
	left := unacknowledged(t, err, len(batch))
	if !errors.Is(err, context.Canceled) || !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("error = %v, want it to wrap %v and %v", err, context.Canceled, jetstream.ErrNoStreamResponse)
	}
	if want := "second callboard.representative.changed " + events.Subject(batch[1].System, batch[1].Entity) + ","; !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want it to contain %q", err, want)
	}
	if left[0].ID == "" {
		t.Error("id of an unacknowledged event is empty, want the one under which it was sent")
	}
}

func TestPublisher_ReportsOnlyRefusedEvents(t *testing.T) {
	h := newHarness(t)
	config := events.StreamConfig(events.StreamName, 4, 1)
	config.MaxMsgSize = 1000
	if _, err := h.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	batch := representatives(1)
	large := *batch[1].State.(*events.Representative)
	large.Name = strings.Repeat("n", 1000)
	batch[1] = events.Changed(&large)
	err := events.NewPublisher(h.js, "/pbx").Publish(t.Context(), batch...)
	if got := unacknowledged(t, err, 1)[0].Identity; got != batch[1].Identity {
		t.Errorf("unacknowledged event = %+v, want %+v", got, batch[1].Identity)
	}
	if got := len(h.stored()); got != 2 {
		t.Errorf("stored events = %d, want 2", got)
	}
}

func TestPublisher_ChecksAllEventsBeforeItSends(t *testing.T) {
	h := newHarness(t, eventstest.MaxPayload(8<<10))
	good := decoded(t, "call.changed")
	large := *good.State.(*events.Call)
	large.RouteSummary = events.Some(strings.Repeat("5", 8<<10))
	invalid := large
	invalid.To = events.Some("a\x00b")
	transcript := *decoded(t, "transcript.changed").State.(*events.Transcript)
	transcript.Text = events.Some(strings.Repeat("long ", 2<<10))
	if err := h.js.DeleteObjectStore(t.Context(), events.TranscriptBucket); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state events.State
		want  string
	}{
		"too large":                        {&large, "over the limit of 7680"},
		"invalid":                          {&invalid, "/to: must not contain NUL"},
		"a claim check without its bucket": {&transcript, jetstream.ErrBucketNotFound.Error()},
	} {
		err := events.NewPublisher(h.js, "/pbx").Publish(t.Context(), good, events.Changed(c.state))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "event 2 of 2") {
			t.Errorf("%s: error = %v, want it to contain %q and event 2 of 2", name, err, c.want)
		}
	}
	if got := len(h.stored()); got != 0 {
		t.Errorf("stored events = %d, want 0", got)
	}
}

func TestPublisher_ReturnsOnAClosedConnection(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	js.Conn().Close()
	_ = unacknowledged(t, events.NewPublisher(js, "/pbx").Publish(t.Context(), representatives(2)...), 6)
}
