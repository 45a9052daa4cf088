package rebuild_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/eventstest/wallclock"
	"callboard/projector"
	"callboard/projector/projectortest"
)

// replicated is a harness with a stream on three servers, and calls that are published all the time.
type replicated struct{ *callLoad }

// info returns what the stream's leader says. It returns nil without an answer.
func (r *replicated) info() *jetstream.StreamInfo {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	info, err := r.Stream.Info(ctx)
	if err != nil || info.Cluster == nil || info.Cluster.Leader == "" {
		return nil
	}
	return info
}

// awaitLeader waits until the stream has a leader with as many replicas that have its messages.
func (r *replicated) awaitLeader(replicas int) {
	r.Helper()
	eventstest.Eventually(r, "a leader with its replicas", func() bool {
		info := r.info()
		if info == nil {
			return false
		}
		current := 0
		for _, peer := range info.Cluster.Replicas {
			if peer.Current && !peer.Offline {
				current++
			}
		}
		return current >= replicas
	})
}

// lead makes a server the leader of the stream.
func (r *replicated) lead(server string) {
	r.Helper()
	request := []byte(`{"placement":{"preferred":"` + server + `"}}`)
	eventstest.Eventually(r, server+" leads", func() bool {
		if info := r.info(); info != nil && info.Cluster.Leader == server {
			return true
		}
		_, _ = r.JetStream.Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+events.StreamName, request, time.Second) // looked at above
		return false
	})
}

func (r *replicated) watermarks() []time.Time {
	r.Helper()
	return projectortest.Query[time.Time](r.Harness, "select watermark from projection.position order by partition")
}

// awaitProgress waits until events are acknowledged and every watermark moves.
func (r *replicated) awaitProgress() {
	r.Helper()
	acknowledged, before := r.acknowledged.Load(), r.watermarks()
	eventstest.Eventually(r, "events are acknowledged, and every watermark moves", func() bool {
		for i, watermark := range r.watermarks() {
			if !watermark.After(before[i]) {
				return false
			}
		}
		return r.acknowledged.Load() > acknowledged
	})
}

// isLeaderless tells whether a server answers that the stream or JetStream has no leader.
func isLeaderless(ctx context.Context, js jetstream.JetStream) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, events.StreamName)
	var refusal *jetstream.APIError
	return errors.As(err, &refusal) || err == nil && stream.CachedInfo().Cluster.Leader == ""
}

// startCollectingReasons collects the reasons for which partitions stop. stop returns them.
func startCollectingReasons(t *testing.T, registry prometheus.Gatherer) (stop func() []string) {
	t.Helper()
	var reasons []string
	end := eventstest.Run(t, func(ctx context.Context) error {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			for series := range eventstest.Metrics(t, registry) {
				if strings.HasPrefix(series, "callboard_projector_stopped ") {
					reasons = append(reasons, series)
				}
			}
		}
		return nil
	})
	return func() []string {
		end()
		slices.Sort(reasons)
		return slices.Compact(reasons)
	}
}

// The clocks of a cluster's servers differ by seconds. Each server leads, each is killed, and the majority is lost for some time. No partition
// stops, the watermarks move whenever there is a majority, no row appears behind one, and a replay gives the same rows.
func TestCluster_ClocksDiffer(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	const skew = 3 * time.Second
	cluster := wallclock.NewCluster(t, -skew, 0, skew)
	h := newHarness(t, projectortest.WithNATS(cluster.URL(), len(cluster)))
	h.ahead = skew
	registry := prometheus.NewRegistry()
	stopProjector := h.StartProjector(func(c *projector.Config) { c.Metrics = registry })
	systems := make([]uuid.UUID, h.Partitions)
	for i := range systems {
		systems[i] = h.NewSystemIn(i)
		h.PublishStates(projectortest.PhoneSystem(systems[i]))
	}
	h.WaitUntilCaughtUp()
	reasons, stopReaders := startCollectingReasons(t, registry), h.startReaders(systems[0], systems[1])
	r := &replicated{h.startCallLoad(systems...)}

	for _, s := range cluster {
		r.lead(s.Name())
		r.awaitProgress()
	}
	for _, s := range []*wallclock.Server{cluster[2], cluster[1]} {
		s.Kill()
		r.awaitLeader(1)
		r.awaitProgress()
		s.Start()
		r.awaitLeader(2)
	}
	r.lead(cluster[0].Name())
	r.loseMajority(cluster[0], cluster[1], cluster[2])
	r.awaitProgress()

	r.stop()
	h.WaitUntilCaughtUp()
	stopReaders()
	if list := reasons(); len(list) > 0 {
		t.Errorf("stop reasons = %q, want none", list)
	}
	stopProjector()
	h.requireCalls(r.acknowledged.Load())
	h.requireVerified("afterwards")
	h.requireRebuilt()
}

// loseMajority kills the leader and another server, until the server that is left answers that there is no leader.
func (r *replicated) loseMajority(leader, other, left *wallclock.Server) {
	r.Helper()
	leader.Kill()
	other.Kill()
	js := eventstest.JetStream(r, left.URL())
	eventstest.Eventually(r, "no leader", func() bool { return isLeaderless(r.Context(), js) })
	other.Start()
	r.awaitLeader(1)
	leader.Start()
	r.awaitLeader(2)
}
