package projector_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// exportTo makes a projector register its metrics there.
func exportTo(registry *prometheus.Registry) func(*projector.Config) {
	return func(c *projector.Config) { c.Metrics = registry }
}

// sums adds up the values of each metric over its labels. Metrics without values are missing.
func sums(tb testing.TB, registry *prometheus.Registry) map[string]float64 {
	tb.Helper()
	families, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	sums := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			sums[family.GetName()] += m.GetGauge().GetValue()
		}
	}
	return sums
}

// waitForSum waits until the values of a metric add up to a number. want -1 stands for no values.
func waitForSum(tb testing.TB, registry *prometheus.Registry, name string, want float64) {
	tb.Helper()
	eventstest.Eventually(tb, fmt.Sprintf("%s = %v", name, want), func() bool {
		got, found := sums(tb, registry)[name]
		return got == want && found || want < 0 && !found
	})
}

func TestMetrics_Pending(t *testing.T) {
	h := newHarness(t)
	registry := prometheus.NewRegistry()
	h.StartProjector(exportTo(registry))
	var systems []uuid.UUID
	for partition := range projectortest.Partitions {
		systems = append(systems, h.NewSystemIn(partition))
		h.publishCall(systems[partition])
	}
	waitForSum(t, registry, "callboard_projector_pending", 0)
	mostAtOnce := h.countConsumersAtOnce()
	locked, err := h.Database.Pool(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "lock table projection.call_log in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	for _, system := range systems {
		h.PublishStates(projectortest.Call(system, uuid.New()), projectortest.Call(system, uuid.New()))
	}
	waitForSum(t, registry, "callboard_projector_pending", 2*projectortest.Partitions)
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitForSum(t, registry, "callboard_projector_pending", 0)
	if got := mostAtOnce.Load(); got != 1 {
		t.Errorf("consumers that count pending messages = %d at once, want 1 after another", got)
	}
}

// countConsumersAtOnce counts the consumers of single partitions from now on. most has how many there were at once.
func (h *harness) countConsumersAtOnce() (most *atomic.Int64) {
	h.Helper()
	most = new(atomic.Int64)
	open := int64(0) // messages of a subscription come one after another
	subscription, err := h.JetStream.Conn().Subscribe("$JS.API.CONSUMER.>", func(m *nats.Msg) {
		switch subject := strings.Split(m.Subject, "."); { // $JS.API.CONSUMER.CREATE.<stream>.<name>.<filter>
		case subject[3] == "CREATE" && len(subject) > 6:
			open++
			most.Store(max(most.Load(), open))
		case subject[3] == "DELETE" && open > 0:
			open--
		}
	})
	if err != nil {
		h.Fatal(err)
	}
	if err := h.JetStream.Conn().Flush(); err != nil { // projectors have other connections
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = subscription.Unsubscribe() })
	return most
}

func TestMetrics_Database(t *testing.T) {
	h := newHarness(t)
	registry := prometheus.NewRegistry()
	locked, err := h.Database.Pool(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "lock table control.dead_letter"); err != nil {
		t.Fatal(err)
	}
	h.StartProjector(exportTo(registry))
	waitForSum(t, registry, "callboard_projector_stream_first_sequence", 0)
	exported := sums(t, registry)
	for _, name := range []string{"callboard_projector_dead_letters_open", "callboard_generation"} {
		if value, found := exported[name]; found {
			t.Errorf("%s = %v before the database was read, want no value", name, value)
		}
	}
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitForSum(t, registry, "callboard_projector_dead_letters_open", 0)
	h.PublishRaw(events.Subject(uuid.New(), events.EntityCall), nats.Header{}, "not an event")
	waitForSum(t, registry, "callboard_projector_dead_letters_open", 1)
	h.Exec("update control.dead_letter set resolution = 'dropped'")
	waitForSum(t, registry, "callboard_projector_dead_letters_open", 0)
	waitForSum(t, registry, "callboard_generation", float64(h.QueryInt("select id from control.generation where state = 'live'")))
	waitForSum(t, registry, "callboard_projector_stream_first_sequence", 1)
}
