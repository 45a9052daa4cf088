package sample_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// company is a small one that has more than one batch of events.
func company() *sample.Company { return sample.New(sample.Config{Seed: 3, Systems: 2, Calls: 900}) }

func stored(t *testing.T, stream jetstream.Stream) int {
	t.Helper()
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(info.State.Msgs)
}

func TestPublish(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	stream := eventstest.CreateStream(t, js, 4)
	publisher := events.NewPublisher(js, "test")
	var told []sample.Counts
	tell := func(p sample.Counts) { told = append(told, p) }
	done, err := sample.Publish(t.Context(), publisher, company(), 0, tell)
	if err != nil {
		t.Fatal(err)
	}
	if done.Calls != 900 || done != sample.Count(company()) || done.Events != stored(t, stream) {
		t.Errorf("%+v published, %+v expected, %d stored", done, sample.Count(company()), stored(t, stream))
	}
	if len(told) < 2 || told[len(told)-1] != done {
		t.Errorf("told %+v", told)
	}
	// The same seed is the same events, which the stream knows by their IDs.
	if _, err := sample.Publish(t.Context(), publisher, company(), 0, tell); err != nil || stored(t, stream) != done.Events {
		t.Errorf("%d stored after publishing again, %v", stored(t, stream), err)
	}
}

func TestPublish_AtARate(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	eventstest.CreateStream(t, js, 1)
	few := sample.New(sample.Config{Seed: 3, Systems: 1})
	whole := sample.Count(few).Events
	const rate = 1000
	began := time.Now()
	done, err := sample.Publish(t.Context(), events.NewPublisher(js, "test"), few, rate, func(sample.Counts) {})
	if least := time.Duration(whole) * time.Second / rate; err != nil || done.Events != whole || time.Since(began) < least {
		t.Errorf("%d of %d events in %s, at least %s at this rate; %v", done.Events, whole, time.Since(began), least, err)
	}
}

func TestPublish_Interrupted(t *testing.T) {
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL())
	stream := eventstest.CreateStream(t, js, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done, err := sample.Publish(ctx, events.NewPublisher(js, "test"), company(), 0, func(sample.Counts) { cancel() })
	if err == nil || done.Events == 0 || done.Events != stored(t, stream) {
		t.Errorf("%+v published, %d stored, %v", done, stored(t, stream), err)
	}
}
