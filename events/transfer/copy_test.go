package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/transfer"
)

const former, next = "PHONES", "PHONES2"

func newStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	if _, err := js.CreateStream(t.Context(), events.StreamConfig(former, 8, 1)); err != nil {
		t.Fatal(err)
	}
	return js
}

func newCopy(js jetstream.JetStream, change ...func(*transfer.Copy)) transfer.Copy {
	c := transfer.Copy{JetStream: js, From: former, To: next, Partitions: 5, Replicas: 1, Progress: func(_, _ uint64) {}}
	for _, apply := range change {
		apply(&c)
	}
	return c
}

// publish publishes numbered messages of some phone systems, with a clock message now and then.
func publish(t *testing.T, js jetstream.JetStream, count int) {
	t.Helper()
	for i := range count {
		system := uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(i % 7)})
		m := &nats.Msg{
			Subject: events.Subject(system, events.EntityCall), Data: fmt.Append(nil, i),
			Header: nats.Header{"ce-id": {strconv.Itoa(i)}, "Nats-Msg-Id": {uuid.NewString()}},
		}
		if i%50 == 0 {
			m.Header.Set(events.RetryHeader, "1/2")
			if _, err := js.Publish(t.Context(), events.ClockSubject, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the events of a stream in its order: the subjects as they were published, the headers that a copy keeps, and the data.
func contents(t *testing.T, js jetstream.JetStream, name string, partitions int) (list []string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for sequence := range stream.CachedInfo().State.LastSeq {
		m, err := stream.GetMsg(t.Context(), sequence+1)
		if err != nil {
			t.Fatal(err)
		}
		subject, ok := events.PublishedSubject(m.Subject)
		if !ok {
			continue
		}
		system := events.SubjectSystem(m.Subject)
		if want := fmt.Sprintf("phones.%d.", events.Partition(system, partitions)); !strings.HasPrefix(m.Subject, want) {
			t.Errorf("%s: subject = %s, want %s", name, m.Subject, want)
		}
		list = append(list, fmt.Sprint(subject, m.Header["ce-id"], string(m.Data)))
		if name == next && len(m.Header[events.RetryHeader]) > 0 {
			t.Errorf("message %d of the copy names a dead letter of the other stream", sequence+1)
		}
	}
	return list
}

func requireCopied(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	want, got := contents(t, js, former, 8), contents(t, js, next, 5)
	if !slices.Equal(got, want) {
		t.Errorf("the copy has %d events, want the %d of the stream in their order", len(got), len(want))
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	js := newStream(t)
	publish(t, js, 3000)
	var begun bool
	c := newCopy(js, func(c *transfer.Copy) {
		c.Progress = func(uint64, uint64) {
			if !begun {
				begun = true
				publish(t, js, 1200) // the stream moves on
			}
		}
	})
	messages, err := c.Run(t.Context())
	if err != nil || messages != 4200 {
		t.Fatalf("messages = %d, error = %v, want 4200", messages, err)
	}
	requireCopied(t, js)
	ack, err := js.Publish(t.Context(), events.Subject(uuid.New(), events.EntityCall), nil)
	if err != nil || ack.Stream != next || ack.Sequence != 4201 {
		t.Errorf("acknowledgement = %+v, error = %v, want message 4201 of %s", ack, err, next)
	}
	again, err := newCopy(js).Run(t.Context())
	if err != nil || again != 4201 {
		t.Errorf("second run: messages = %d, error = %v, want 4201", again, err)
	}
	running, err := js.Stream(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if unsafe := events.CheckStream(running.CachedInfo().Config); len(unsafe) > 0 {
		t.Errorf("unsafe settings: %v", unsafe)
	}
}

// A copy that was interrupted continues after its last message, and the stream takes events meanwhile.
func TestCopy_Continues(t *testing.T) {
	t.Parallel()
	js := newStream(t)
	publish(t, js, 3000)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := newCopy(js, func(c *transfer.Copy) { c.Progress = func(uint64, uint64) { cancel() } }).Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error = %v, want %v", err, context.Canceled)
		}
		publish(t, js, 100)
	}
	// As after a SIGKILL.
	if _, err := events.CloseStream(t.Context(), js, former); err != nil {
		t.Fatal(err)
	}
	if _, err := newCopy(js).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	requireCopied(t, js)
}

// A stream without events for a while has clock messages only, which the copy lacks.
func TestCopy_EndsOnAQuietStream(t *testing.T) {
	t.Parallel()
	js := newStream(t)
	publish(t, js, 1)
	for range 1100 {
		if _, err := js.Publish(t.Context(), events.ClockSubject, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var portions int
	c := newCopy(js, func(c *transfer.Copy) {
		c.Progress = func(uint64, uint64) {
			if portions++; portions > 3 {
				cancel()
			}
		}
	})
	if messages, err := c.Run(ctx); err != nil || messages != 1 {
		t.Fatalf("messages = %d, error = %v, want 1", messages, err)
	}
	requireCopied(t, js)
}

func TestCopy_Refuses(t *testing.T) {
	t.Parallel()
	js := newStream(t)
	if _, err := newCopy(js, func(c *transfer.Copy) { c.From = "NOBODY" }).Run(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("a missing stream: error = %v, want %v", err, jetstream.ErrStreamNotFound)
	}
	if _, err := js.CreateStream(t.Context(), events.CopyConfig(next, 6, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := newCopy(js).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "exists with 6 partitions, not 5") {
		t.Errorf("another number of partitions: error = %v", err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := newCopy(js, func(c *transfer.Copy) { c.To = "OTHER" }).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("another stream: error = %v", err)
	}
	publish(t, js, 1) // it still takes events
}
