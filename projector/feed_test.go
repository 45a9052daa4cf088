package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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

// checkMessageCounts checks that every message of the stream was counted, with one outcome.
func (h *harness) checkMessageCounts() {
	h.Helper()
	if n := h.QueryInt("select count(*) from projection.message_count where read <> applied + stale + ignored + dead"); n != 0 {
		h.Errorf("message counts that don't add up = %d, want 0", n)
	}
	info, err := h.Stream.Info(h.Context(), jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		h.Fatal(err)
	}
	want := int64(info.State.Msgs - info.State.Subjects[events.ClockSubject])
	if got := h.QueryInt("select sum(read)::bigint from projection.message_count"); got != want {
		h.Errorf("messages read = %d, want %d", got, want)
	}
}

// feedConsumers waits until there is a consumer of a feed for each number of filters, and returns their names.
func (h *harness) feedConsumers(filters ...int) (names []string) {
	h.Helper()
	eventstest.Eventually(h, fmt.Sprint("consumers with ", filters, " filters"), func() bool {
		names = nil
		var got []int
		for info := range h.Stream.ListConsumers(h.Context()).Info() {
			if strings.HasPrefix(info.Name, feed.ConsumerPrefix) {
				got, names = append(got, len(info.Config.FilterSubjects)), append(names, info.Name)
			}
		}
		return slices.Equal(got, filters)
	})
	return names
}

// Projectors that share the partitions read their own only. When one has gone, the other one reads all, by one
// consumer.
func TestProjector_SharesPartitions(t *testing.T) {
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
	h.feedConsumers(3) // of two partitions, and of clock messages
	h.StartProjector(productionTick)
	publish()
	h.WaitUntilCaughtUp()
	h.checkCalls(100)
	h.feedConsumers(3, 3)
	stop()
	publish()
	h.WaitUntilCaughtUp()
	h.checkCalls(150)
	h.feedConsumers(0)
	h.checkMessageCounts()
}

// Partitions take turns where there are fewer connections than partitions.
func TestProjector_OneConnectionForAllPartitions(t *testing.T) {
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
