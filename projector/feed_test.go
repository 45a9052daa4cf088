package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/feed"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

// feedConsumers returns the consumers of all projectors' feeds.
func (h *harness) feedConsumers() (list []jetstream.ConsumerConfig) {
	h.Helper()
	consumers := h.Stream.ListConsumers(h.Context())
	for info := range consumers.Info() {
		if strings.HasPrefix(info.Name, feed.ConsumerPrefix) {
			list = append(list, info.Config)
		}
	}
	if err := consumers.Err(); err != nil {
		h.Fatal(err)
	}
	return list
}

// feedConsumer waits until there is one consumer of a feed, with the filters of partitions; of none: without a
// filter. It returns that one.
func (h *harness) feedConsumer(partitions ...int) jetstream.ConsumerConfig {
	h.Helper()
	return h.waitForFeeds(partitions)[0]
}

// waitForFeeds waits until there is one consumer for each share of the partitions: partitions that start late have
// a feed opened again.
func (h *harness) waitForFeeds(shares ...[]int) (consumers []jetstream.ConsumerConfig) {
	h.Helper()
	var want []string
	for _, share := range shares {
		want = append(want, fmt.Sprint(filters(share)))
	}
	eventstest.Eventually(h, "consumers with the filters "+strings.Join(want, " and "), func() bool {
		consumers = h.feedConsumers()
		var got []string
		for _, c := range consumers {
			got = append(got, fmt.Sprint(slices.Sorted(slices.Values(c.FilterSubjects))))
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	})
	return consumers
}

// filters returns the filters of a feed of some partitions, in order; of none: without a filter.
func filters(partitions []int) (subjects []string) {
	for _, partition := range partitions {
		subjects = append(subjects, events.PartitionFilter(partition))
	}
	if len(subjects) > 0 {
		subjects = append(subjects, events.ClockSubject)
	}
	return subjects
}

// An owner of all partitions reads them by one consumer without a filter.
func TestProjector_ReadsAllPartitionsByOneConsumer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector()
	for range 20 {
		h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
	}
	h.WaitUntilCaughtUp()
	h.checkCalls(20)
	config := h.feedConsumer()
	if config.Durable != "" || config.FilterSubject != "" {
		t.Errorf("consumer = durable %q with the filter %q, want neither", config.Durable, config.FilterSubject)
	}
	if config.AckPolicy != jetstream.AckNonePolicy || !config.MemoryStorage || config.InactiveThreshold < 5*time.Minute {
		t.Errorf("consumer = acknowledgements %s, memory %t, expiry %s, want none, true, 5m or more",
			config.AckPolicy, config.MemoryStorage, config.InactiveThreshold)
	}
}

// Projectors that share the partitions read their own only. When one has gone, the other one reads all, by one
// consumer.
func TestProjector_SharesPartitions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stop := h.StartProjector(productionTick, func(c *projector.Config) { c.Partitions = []int{0, 1} })
	publish := func() {
		for range 50 {
			h.PublishStates(projectortest.Call(uuid.New(), uuid.New()))
		}
	}
	publish()
	eventstest.Eventually(t, "the positions of two partitions", func() bool {
		return h.QueryInt("select count(*) from projection.position where sequence > 0") == 2
	})
	h.feedConsumer(0, 1)
	h.StartProjector(productionTick)
	publish()
	h.WaitUntilCaughtUp()
	h.checkCalls(100)
	h.waitForFeeds([]int{0, 1}, []int{2, 3})
	stop()
	publish()
	h.WaitUntilCaughtUp()
	h.checkCalls(150)
	h.feedConsumer()
	h.checkMessageCounts()
}

// Partitions take turns where there are fewer connections than partitions.
func TestProjector_OneConnectionForAllPartitions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector(func(c *projector.Config) {
		pool := schematest.OpenPoolLike(t, c.Database, func(p *pgxpool.Config) { p.MaxConns = 1 })
		c.Database, c.Control = pool, c.Database
	})
	const rounds = 3
	for range rounds {
		for partition := range h.Partitions {
			h.PublishStates(projectortest.Call(h.NewSystemIn(partition), uuid.New()))
		}
		h.WaitUntilCaughtUp()
	}
	h.checkCalls(int64(rounds * h.Partitions))
}

// A partition whose transactions wait holds up none of 15 others, although there is more than fits into memory. It
// misses nothing.
func TestProjector_AHeldPartitionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const partitions, each = 16, 120
	h := &harness{projectortest.NewHarness(t, projectortest.WithPartitions(partitions))}
	h.StartProjector(func(c *projector.Config) { c.FeedBytes, c.BatchSize = 64<<10, 10 })
	systems := make([]uuid.UUID, partitions)
	for p := range systems {
		systems[p] = h.NewSystemIn(p)
		h.PublishStates(projectortest.PhoneSystem(systems[p]))
	}
	h.WaitUntilCaughtUp()
	held, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(t.Context()) }()
	if _, err := held.Exec(t.Context(), "select from projection.position where partition = 3 for update"); err != nil {
		t.Fatal(err)
	}
	var backlog []events.State
	for range each {
		for _, system := range systems {
			backlog = append(backlog, projectortest.Call(system, uuid.New()))
		}
	}
	h.PublishStates(backlog...)
	calls := func(condition string) int64 {
		return h.QueryInt("select count(*) from projection.call_log where " + condition)
	}
	eventstest.Eventually(t, "the other partitions' calls", func() bool { return calls("partition <> 3") == (partitions-1)*each })
	if got := calls("partition = 3"); got != 0 {
		t.Errorf("calls of the held partition = %d, want 0", got)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "the held partition's calls", func() bool { return calls("partition = 3") == each })
	h.WaitUntilCaughtUp()
	h.checkMessageCounts()
}
