package status_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/projector/status"
)

// cover writes a line of the ledger: read, applied, stale, ignored, dead.
func (b *bench) cover(t *testing.T, partition int, entity string, numbers [5]int64) {
	t.Helper()
	_, err := b.admin.Exec(t.Context(), `
		insert into projection.message_count (partition, entity, read, applied, stale, ignored, dead)
		values ($1, $2, $3, $4, $5, $6, $7)`,
		partition, entity, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
	if err != nil {
		t.Fatal(err)
	}
}

// published is a stream of 9 messages, of which partition 0 has 1, 2, 3, 8 and 9, and is applied up to 8.
func published(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.publish(t, 0, 3)
	b.publish(t, 1, 4)
	b.publish(t, 0, 2)
	b.position(t, 0, 8, b.created())
	return b
}

func TestRead_Accounts(t *testing.T) {
	for name, c := range map[string]struct {
		read, missing int64
		problem       string
	}{
		"all":           {4, 0, ""},
		"one missing":   {3, 1, "partition 0: 1 message is not accounted for: 'callboard rebuild' reads it"},
		"three missing": {1, 3, "partition 0: 3 messages are not accounted for: 'callboard rebuild' reads them"},
		"one too many": {5, -1, "partition 0: 5 were read, and the stream holds 4: messages were removed, or read twice: " +
			"'callboard verify' shows whether rows are wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			b := published(t)
			b.cover(t, 0, "phone-system", [5]int64{c.read, c.read, 0, 0, 0})
			report := b.read(t)
			p := report.Partitions[0]
			if *p.Messages != 4 || *p.Read != c.read || p.Missing != c.missing || p.LagEvents != 1 {
				t.Errorf("%d messages, %d read, %d missing, lag %d", *p.Messages, *p.Read, p.Missing, p.LagEvents)
			}
			if got := strings.Join(report.Problems(), "\n"); got != c.problem || report.Balanced != (c.problem == "") {
				t.Errorf("%q, want %q; balanced: %t", got, c.problem, report.Balanced)
			}
			b.leavesNoConsumer(t)
		})
	}
}

// A partition that has a position and no message in it, and one that nobody has begun.
func TestRead_AccountsForNothing(t *testing.T) {
	b := published(t)
	b.cover(t, 0, "phone-system", [5]int64{4, 4, 0, 0, 0})
	b.position(t, 3, 9, b.created())
	report := b.read(t)
	if p := report.Partitions[3]; *p.Messages != 0 || *p.Read != 0 || p.Missing != 0 {
		t.Errorf("%+v", p)
	}
	if p := report.Partitions[1]; p.Messages != nil || p.Read != nil || p.Missing != 0 || p.LagEvents != 4 {
		t.Errorf("%+v", p)
	}
	if problems := report.Problems(); len(problems) != 0 {
		t.Errorf("%q", problems)
	}
}

// A partition that stands for another stream is not held against this one.
func TestRead_AccountsForNoFault(t *testing.T) {
	b := published(t)
	b.position(t, 1, 10, b.created())
	b.cover(t, 1, "phone-system", [5]int64{10, 10, 0, 0, 0})
	if p := b.read(t).Partitions[1]; p.Messages != nil || *p.Read != 10 || p.Missing != 0 || p.StopReason == "" {
		t.Errorf("%+v", p)
	}
}

// busy is a stream on which something happens after each question.
type busy struct {
	jetstream.Stream
	happen func()
}

func (b busy) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	defer b.happen()
	return b.Stream.CreateConsumer(ctx, cfg)
}

func (b busy) ResetConsumerToSequence(ctx context.Context, name string, seq uint64) (*jetstream.ConsumerResetResponse, error) {
	defer b.happen()
	return b.Stream.ResetConsumerToSequence(ctx, name, seq)
}

// through is a JetStream whose streams are seen through something.
type through struct {
	jetstream.JetStream
	wrap func(jetstream.Stream) jetstream.Stream
}

func (j through) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := j.JetStream.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return j.wrap(stream), nil
}

func TestRead_AccountsWhileEventsArrive(t *testing.T) {
	for name, c := range map[string]struct {
		arrivals      int
		read, missing int64
	}{
		"a few, all read":        {3, 4, 0},
		"a few, one missing":     {3, 3, 1},
		"a few, one too many":    {3, 5, -1},
		"always, all read":       {1000, 4, 0},
		"always, three missing":  {1000, 1, 2}, // as many as are proven
		"always, three too many": {1000, 7, -2},
	} {
		t.Run(name, func(t *testing.T) {
			b := published(t)
			b.cover(t, 0, "phone-system", [5]int64{c.read, c.read, 0, 0, 0})
			source := b.source()
			source.JetStream = through{b.js, func(stream jetstream.Stream) jetstream.Stream {
				return busy{stream, b.arrivals(t, c.arrivals)}
			}}
			report, err := source.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if p := report.Partitions[0]; p.Missing != c.missing {
				t.Errorf("%d messages, %d read, %d missing", *p.Messages, *p.Read, p.Missing)
			}
		})
	}
}

// arrivals publishes an event in partition 0 each time, so many times.
func (b *bench) arrivals(t *testing.T, left int) func() {
	t.Helper()
	var mu sync.Mutex
	publisher, id := events.NewPublisher(b.js, "test"), systemIn(0)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if left == 0 {
			return
		}
		if err := publisher.Publish(t.Context(), systemChanged(id, left)); err != nil {
			t.Error(err)
		}
		left--
	}
}

// behind is a server that has stored nothing yet when it is asked first.
type behind struct {
	jetstream.Stream
	asked *atomic.Bool
}

func (b behind) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	if cfg.FilterSubject == events.PartitionFilter(0) && !b.asked.Swap(true) {
		cfg.FilterSubject = events.PartitionFilter(3)
	}
	return b.Stream.CreateConsumer(ctx, cfg)
}

func TestRead_AccountsAgainBeforeItComplains(t *testing.T) {
	b := published(t)
	b.cover(t, 0, "phone-system", [5]int64{4, 4, 0, 0, 0})
	source, asked := b.source(), new(atomic.Bool)
	source.JetStream = through{b.js, func(stream jetstream.Stream) jetstream.Stream { return behind{stream, asked} }}
	report, err := source.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := report.Partitions[0]; p.Missing != 0 || *p.Messages != 4 || p.LagEvents != 1 || !asked.Load() {
		t.Errorf("%+v", p)
	}
}

func TestRead_Coverage(t *testing.T) {
	b := newBench(t)
	b.position(t, 0, 0, b.created())
	b.position(t, 2, 0, b.created())
	b.cover(t, 0, "unknown", [5]int64{2, 0, 0, 0, 2})
	b.cover(t, 0, "call", [5]int64{10, 5, 3, 1, 1})
	b.cover(t, 2, "call", [5]int64{7, 7, 0, 0, 0})
	b.cover(t, 2, "group", [5]int64{1, 1, 0, 0, 0})
	report := b.read(t)
	want := []status.MessageCount{
		{Entity: "group", Read: 1, Applied: 1},
		{Entity: "call", Read: 17, Applied: 12, Stale: 3, Ignored: 1, Dead: 1},
		{Entity: "unknown", Read: 2, Dead: 2},
	}
	if !slices.Equal(report.MessageCounts, want) {
		t.Errorf("%+v", report.MessageCounts)
	}
}

// Two lines that are wrong by as much in opposite directions don't make one that is right.
func TestRead_CoverageThatDoesNotAddUp(t *testing.T) {
	b := newBench(t)
	b.position(t, 0, 0, b.created())
	b.position(t, 2, 0, b.created())
	b.cover(t, 0, "call", [5]int64{0, 1, 0, 0, 0})
	b.cover(t, 2, "call", [5]int64{0, 0, 0, 0, -1})
	report := b.read(t)
	problems := strings.Join(report.Problems(), "\n")
	const want = "partition 0, call: the ledger does not add up: 0 read, and what became of them makes 1: 'callboard rebuild' counts anew\n" +
		"partition 2, call: the ledger does not add up: 0 read, and what became of them makes -1: 'callboard rebuild' counts anew"
	if report.Balanced || problems != want {
		t.Errorf("balanced: %t: %s", report.Balanced, problems)
	}
}

// A generation of a release that kept no ledger is shown without one.
func TestRead_NoLedger(t *testing.T) {
	b := published(t)
	if _, err := b.admin.Exec(t.Context(), "drop table projection.message_count"); err != nil {
		t.Fatal(err)
	}
	report := b.read(t)
	p := report.Partitions[0]
	if report.MessageCounts != nil || report.Balanced || p.Read != nil || p.Messages != nil || p.Missing != 0 || p.LagEvents != 1 {
		t.Errorf("%+v", report)
	}
	if text, err := json.Marshal(report); err != nil || !strings.Contains(string(text), `"messageCounts":null,"balanced":false`) {
		t.Errorf("%s: %v", text, err)
	}
}
