package status_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/status"
)

func TestRead_MissingMessages(t *testing.T) {
	for name, c := range map[string]struct {
		read, missing int64
		problem       string
	}{
		"all":           {4, 0, ""},
		"one missing":   {3, 1, "partition 0: 1 message up to the position is missing in the message accounting: run 'callboard rebuild'"},
		"three missing": {1, 3, "partition 0: 3 messages up to the position are missing in the message accounting: run 'callboard rebuild'"},
		"one too many": {5, -1, "partition 0: the message accounting has 5 messages, but the stream 4: " +
			"messages were deleted or read twice: run 'callboard verify' to compare the rows"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarnessWithEvents(t)
			h.insertMessageCount(0, "phone-system", [5]int64{c.read, c.read, 0, 0, 0})
			report := h.read()
			p := report.Partitions[0]
			if *p.Messages != 4 || *p.Read != c.read || p.Missing != c.missing || p.LagEvents != 1 {
				t.Errorf("messages = %d, read = %d, missing = %d, lag = %d, want 4, %d, %d, 1", *p.Messages, *p.Read, p.Missing, p.LagEvents, c.read, c.missing)
			}
			if got := strings.Join(report.Problems(), "\n"); got != c.problem || report.Balanced != (c.problem == "") {
				t.Errorf("problems = %q, balanced = %t, want %q", got, report.Balanced, c.problem)
			}
			h.requireNoConsumer()
		})
	}
}

// A partition with a position and without messages is compared. A partition without a position is not.
func TestRead_MissingMessagesOfEmptyPartition(t *testing.T) {
	h := newHarnessWithEvents(t)
	h.insertMessageCount(0, "phone-system", [5]int64{4, 4, 0, 0, 0})
	h.insertPosition(3, 9)
	report := h.read()
	if p := report.Partitions[3]; *p.Messages != 0 || *p.Read != 0 || p.Missing != 0 {
		t.Errorf("partition = %+v, want no messages, none read and none missing", p)
	}
	if p := report.Partitions[1]; p.Messages != nil || p.Read != nil || p.Missing != 0 || p.LagEvents != 4 {
		t.Errorf("partition = %+v, want no numbers, lag 4", p)
	}
	if problems := report.Problems(); len(problems) != 0 {
		t.Errorf("problems = %q, want none", problems)
	}
}

// A stopped partition is not compared with the stream.
func TestRead_MissingMessagesOfStoppedPartition(t *testing.T) {
	h := newHarnessWithEvents(t)
	h.insertPosition(1, 10)
	h.insertMessageCount(1, "phone-system", [5]int64{10, 10, 0, 0, 0})
	if p := h.read().Partitions[1]; p.Messages != nil || *p.Read != 10 || p.Missing != 0 || p.StopReason == "" {
		t.Errorf("partition = %+v, want read 10, no messages, none missing, stopped", p)
	}
}

// callbackStream calls a function after each request that counts messages.
type callbackStream struct {
	jetstream.Stream
	after func()
}

func (s callbackStream) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	defer s.after()
	return s.Stream.CreateConsumer(ctx, cfg)
}

func (s callbackStream) ResetConsumerToSequence(ctx context.Context, name string, seq uint64) (*jetstream.ConsumerResetResponse, error) {
	defer s.after()
	return s.Stream.ResetConsumerToSequence(ctx, name, seq)
}

// wrappedJetStream wraps the streams that it returns.
type wrappedJetStream struct {
	jetstream.JetStream
	wrap func(jetstream.Stream) jetstream.Stream
}

func (j wrappedJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := j.JetStream.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return j.wrap(stream), nil
}

func TestRead_MissingMessagesWhileEventsArrive(t *testing.T) {
	for name, c := range map[string]struct {
		arrivals      int
		read, missing int64
	}{
		"a few, all read":        {3, 4, 0},
		"a few, one missing":     {3, 3, 1},
		"a few, one too many":    {3, 5, -1},
		"always, all read":       {1000, 4, 0},
		"always, three missing":  {1000, 1, 2}, // only two are certain
		"always, three too many": {1000, 7, -2},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarnessWithEvents(t)
			h.insertMessageCount(0, "phone-system", [5]int64{c.read, c.read, 0, 0, 0})
			source := h.source()
			source.JetStream = wrappedJetStream{h.JetStream, func(stream jetstream.Stream) jetstream.Stream {
				return callbackStream{stream, h.publishUpTo(c.arrivals)}
			}}
			if p := h.readFrom(source).Partitions[0]; p.Missing != c.missing {
				t.Errorf("messages = %d, read = %d, missing = %d, want %d missing", *p.Messages, *p.Read, p.Missing, c.missing)
			}
		})
	}
}

// publishUpTo returns a function that publishes an event in partition 0, the first n times that it is called.
func (h *harness) publishUpTo(n int) func() {
	var mu sync.Mutex
	id := h.NewSystemIn(0)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 {
			return
		}
		if err := h.Publisher.Publish(h.Context(), systemChanged(id, n)); err != nil {
			h.Error(err)
		}
		n--
	}
}

// laggingStream counts no messages of partition 0 the first time, like a replica that lags.
type laggingStream struct {
	jetstream.Stream
	asked *atomic.Bool
}

func (s laggingStream) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	if cfg.FilterSubject == events.PartitionFilter(0) && !s.asked.Swap(true) {
		cfg.FilterSubject = events.PartitionFilter(3)
	}
	return s.Stream.CreateConsumer(ctx, cfg)
}

func TestRead_MissingMessagesAreCountedAgain(t *testing.T) {
	h := newHarnessWithEvents(t)
	h.insertMessageCount(0, "phone-system", [5]int64{4, 4, 0, 0, 0})
	source, asked := h.source(), new(atomic.Bool)
	source.JetStream = wrappedJetStream{h.JetStream, func(stream jetstream.Stream) jetstream.Stream { return laggingStream{stream, asked} }}
	if p := h.readFrom(source).Partitions[0]; p.Missing != 0 || *p.Messages != 4 || p.LagEvents != 1 || !asked.Load() {
		t.Errorf("partition = %+v, want 4 messages, none missing, lag 1", p)
	}
}

func TestRead_MessageCounts(t *testing.T) {
	h := newHarness(t)
	h.insertPosition(0, 0)
	h.insertPosition(2, 0)
	h.insertMessageCount(0, "unknown", [5]int64{2, 0, 0, 0, 2})
	h.insertMessageCount(0, "call", [5]int64{10, 5, 3, 1, 1})
	h.insertMessageCount(2, "call", [5]int64{7, 7, 0, 0, 0})
	h.insertMessageCount(2, "group", [5]int64{1, 1, 0, 0, 0})
	report := h.read()
	want := []status.MessageCount{
		{Entity: "group", Read: 1, Applied: 1},
		{Entity: "call", Read: 17, Applied: 12, Stale: 3, Ignored: 1, Dead: 1},
		{Entity: "unknown", Read: 2, Dead: 2},
	}
	if !slices.Equal(report.MessageCounts, want) {
		t.Errorf("message counts = %+v, want %+v", report.MessageCounts, want)
	}
}

// Two errors that cancel each other out in the sum are both reported.
func TestRead_MessageCountsDoNotAddUp(t *testing.T) {
	h := newHarness(t)
	h.insertPosition(0, 0)
	h.insertPosition(2, 0)
	h.insertMessageCount(0, "call", [5]int64{0, 1, 0, 0, 0})
	h.insertMessageCount(2, "call", [5]int64{0, 0, 0, 0, -1})
	report := h.read()
	problems := strings.Join(report.Problems(), "\n")
	const want = "partition 0, call: the message accounting does not add up: read = 0, applied + stale + ignored + dead = 1: run 'callboard rebuild'\n" +
		"partition 2, call: the message accounting does not add up: read = 0, applied + stale + ignored + dead = -1: run 'callboard rebuild'"
	if report.Balanced || problems != want {
		t.Errorf("balanced = %t, problems = %s, want %s", report.Balanced, problems, want)
	}
}
