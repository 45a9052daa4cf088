package fault_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
)

// newDivisibleCluster starts NATS servers of which isolate isolates one, until rejoin is called: no byte passes
// between it and the others, although their connections stay open.
func newDivisibleCluster(t *testing.T) (c eventstest.Cluster, isolate func(*eventstest.Server) (rejoin func())) {
	t.Helper()
	proxies := make(map[[2]int]*eventstest.Proxy)
	c = eventstest.NewRoutedCluster(t, eventstest.Nowhere, func(from, to int, address string) string {
		proxies[[2]int{from, to}] = eventstest.NewProxy(t, address)
		return proxies[[2]int{from, to}].Addr()
	})
	return c, func(s *eventstest.Server) (rejoin func()) {
		isolated := slices.Index(c, s)
		var resume []func()
		for pair, proxy := range proxies {
			if slices.Contains(pair[:], isolated) {
				resume = append(resume, proxy.Pause())
			}
		}
		return func() {
			for _, f := range resume {
				f()
			}
		}
	}
}

// newIsolationHarness starts callboard with a cluster of three NATS servers, of which projectors and readers use
// the one that leads the stream of events. isolate isolates that server from the others, which the publishers use.
// alone is the isolated server's JetStream.
func newIsolationHarness(t *testing.T) (h *harness, isolate func() (rejoin func()), alone jetstream.JetStream) {
	t.Helper()
	seed := seed(t)
	servers, isolateServer := newDivisibleCluster(t)
	h = prepareHarness(t, seed)
	h.postgres, h.js = newPostgresServer(t), eventstest.JetStream(t, servers.URL())
	h.createDatabase()
	h.operator = newProcess(t, "callboard", "callboard", map[string]string{
		"CALLBOARD_NATS_URL": servers.URL(), "CALLBOARD_POSTGRES_URL": h.postgres.URL(liveDatabase),
	})
	(&replicas{harness: h}).createStreams()
	var name string
	eventstest.Eventually(t, "the stream has a leader", func() bool {
		name = h.stream().CachedInfo().Cluster.Leader
		return name != ""
	})
	leader := servers.Server(name)
	var majority []string
	for _, s := range servers {
		if s != leader {
			majority = append(majority, s.URL())
		}
	}
	// A request that nobody answers, because a leader is elected, does not keep the publishers waiting for long.
	js, err := jetstream.New(eventstest.Connect(t, strings.Join(majority, ",")), jetstream.WithDefaultTimeout(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	h.js = js
	h.startProxies(strings.TrimPrefix(leader.URL(), "nats://"))
	h.run(seed, bursty)
	return h, func() (rejoin func()) { return isolateServer(leader) }, eventstest.JetStream(t, leader.URL())
}

// leadsEvents reports whether a server says that it leads the stream of events.
func leadsEvents(ctx context.Context, js jetstream.JetStream) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, events.StreamName)
	return err == nil && stream.CachedInfo().Cluster.Leader != "" // without a leader, every server answers
}

// The server that leads the stream is cut off from the others together with projectors and readers, while
// publishers reach the majority. Clients that walk reports by updatedAt miss nothing, whatever the isolated server
// says until it notices that it leads no more.
func TestReplicas_LeaderIsolated(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	h, isolate, alone := newIsolationHarness(t)
	c := h.startClients()
	h.awaitApplied(settleMessages)
	for range 3 {
		before := c.responses()
		published := h.load.published.Load()
		rejoin := isolate()
		eventstest.Eventually(t, "the majority stores events, and the isolated server leads no more, by its own account", func() bool {
			return h.load.published.Load() >= published+settleMessages && !leadsEvents(t.Context(), alone)
		})
		meanwhile, stored := c.responses()-before, h.load.published.Load()-published
		rejoin()
		h.summary.addTotal("isolated: %d responses, %d events stored by the majority", meanwhile, stored)
		if meanwhile == 0 {
			t.Error("responses while the leader was isolated = 0")
		}
		h.awaitApplied(settleMessages)
	}
	h.load.stop()
	c.finish()
	h.verify()
	for _, total := range h.summary.totals {
		t.Log(total)
	}
}
