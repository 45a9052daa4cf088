package projector_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/ingest"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

// acknowledged are calls that a stream has acknowledged, and when.
type acknowledged struct {
	mu    sync.Mutex
	calls map[uuid.UUID]time.Time
}

func (a *acknowledged) add(call uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[call] = time.Now()
}

func (a *acknowledged) snapshot() map[uuid.UUID]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := make(map[uuid.UUID]time.Time, len(a.calls))
	for call, at := range a.calls {
		calls[call] = at
	}
	return calls
}

const watermarkAndCalls = `
	select p.watermark, c.id
	from projection.position p
	left join projection.call_log c on c.partition = p.partition
	where p.partition = 0`

// missing returns how many calls a watermark promises that are not in the tables.
func (a *acknowledged) missing(ctx context.Context, pool *pgxpool.Pool) (missing int, watermark time.Time, err error) {
	promised := a.snapshot() // before the watermark is read
	rows, _ := pool.Query(ctx, watermarkAndCalls)
	var call *uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&watermark, &call}, func() error {
		if call != nil {
			delete(promised, *call)
		}
		return nil
	})
	for _, at := range promised {
		if watermark.After(at) { // the stream has stored it before
			missing++
		}
	}
	return missing, watermark, err
}

// While the leader of the stream is cut off from the other servers together with the projector, publishers reach the majority. The leader does
// not know yet that it leads no more, and says that nothing is new. No watermark passes an event that the majority has acknowledged.
func TestProjector_LeaderIsolated(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	cluster, isolate := eventstest.NewDivisibleCluster(t)
	database := schematest.New(t)
	pool := database.Pool(t)
	stream, err := eventstest.JetStream(t, cluster.URL()).CreateStream(t.Context(), events.StreamConfig(events.StreamName, 1, 3))
	if err != nil {
		t.Fatal(err)
	}
	leader := cluster.Server(stream.CachedInfo().Cluster.Leader)
	config, disconnect, err := projectortest.Connect(leader.URL(), database.RoleURL("callboard_projector"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disconnect)
	p, err := projector.New(config)
	if err != nil {
		t.Fatal(err)
	}
	eventstest.Run(t, p.Run)
	stored := acknowledged{calls: make(map[uuid.UUID]time.Time)}
	watermarkSince := func(start time.Time) func() bool {
		return func() bool {
			_, watermark, err := stored.missing(t.Context(), pool)
			return err == nil && watermark.After(start)
		}
	}
	eventstest.Eventually(t, "a watermark", watermarkSince(time.Now()))
	var majority []string
	for _, s := range cluster {
		if s != leader {
			majority = append(majority, s.URL())
		}
	}
	publisher := events.NewPublisher(eventstest.JetStream(t, strings.Join(majority, ",")), "test")
	rejoin := isolate(leader)
	stopPublishing := eventstest.Run(t, func(ctx context.Context) error {
		system := uuid.New()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			call := uuid.New()
			err := publisher.Publish(ctx, events.Changed(projectortest.Call(system, call)))
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			}
			stored.add(call)
			<-tick.C
		}
	})
	isolated := eventstest.JetStream(t, leader.URL())
	samples, violations := 0, 0
	eventstest.Eventually(t, "the majority has a leader, and the isolated server leads no more, by its own account", func() bool {
		missing, _, err := stored.missing(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		samples++
		if missing > 0 {
			violations++
		}
		return len(stored.snapshot()) > 0 && !leads(t.Context(), isolated)
	})
	acknowledgedMeanwhile := len(stored.snapshot())
	rejoin()
	stopPublishing()
	if violations > 0 {
		t.Errorf("watermarks that promised events which were not in the tables = %d of %d, want 0", violations, samples)
	}
	eventstest.Eventually(t, "a watermark after all events", watermarkSince(time.Now()))
	if missing, _, err := stored.missing(t.Context(), pool); err != nil || missing > 0 {
		t.Errorf("missing events = %d, error = %v, want 0", missing, err)
	}
	t.Logf("%d samples, %d events acknowledged while the leader was isolated", samples, acknowledgedMeanwhile)
}

// A projector that has read from the majority reaches the isolated server, which still believes that it leads the stream: it has fewer messages
// than the position says. What it says does not stop the partition, because it is not said for 30 s.
func TestProjector_ReachesAnIsolatedLeader(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	cluster, isolate := eventstest.NewDivisibleCluster(t)
	stream, err := eventstest.JetStream(t, cluster.URL()).CreateStream(t.Context(), events.StreamConfig(events.StreamName, 1, 3))
	if err != nil {
		t.Fatal(err)
	}
	const attempts = 20
	for attempt := range attempts {
		leader := stream.CachedInfo().Cluster.Leader
		if reachIsolatedLeader(t, cluster, cluster.Server(leader), isolate) {
			t.Logf("the isolated leader contradicted the position in attempt %d", attempt+1)
			return
		}
		eventstest.Eventually(t, "a leader", func() bool {
			info, err := stream.Info(t.Context())
			return err == nil && info.Cluster.Leader != ""
		})
	}
	t.Errorf("the isolated server contradicted the position in none of %d attempts", attempts)
}

// reachIsolatedLeader returns false if the isolated server no longer believed that it leads when the projector reached it.
func reachIsolatedLeader(t *testing.T, cluster eventstest.Cluster, leader *eventstest.Server, isolate func(*eventstest.Server) func()) (contradicted bool) {
	t.Helper()
	other := cluster[slices.IndexFunc(cluster, func(s *eventstest.Server) bool { return s != leader })]
	database, proxy := schematest.New(t), eventstest.NewProxy(t, other.URL())
	config, disconnect, err := projectortest.Connect("nats://"+proxy.Addr(), database.RoleURL("callboard_projector"))
	if err != nil {
		t.Fatal(err)
	}
	defer disconnect()
	rejoin := sync.OnceFunc(isolate(leader))
	defer rejoin()
	system, publisher := uuid.New(), events.NewPublisher(eventstest.JetStream(t, other.URL()), "test")
	eventstest.Eventually(t, "the majority stores an event, by another leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return publisher.Publish(ctx, events.Changed(projectortest.PhoneSystem(system))) == nil
	})
	log, registry := new(eventstest.LogBuffer), prometheus.NewRegistry()
	projectortest.LogTo(log)(&config)
	config.Metrics = registry
	p, err := projector.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer eventstest.Run(t, p.Run)()
	pool := database.Pool(t)
	applied := func() bool {
		return schematest.QueryOne[bool](t, pool, "select exists (select 1 from projection.phone_system where id = $1)", system)
	}
	eventstest.Eventually(t, "the event that the majority has", applied)
	proxy.MoveTo(leader.URL())
	isolated := eventstest.JetStream(t, leader.URL())
	stopped := false
	eventstest.Eventually(t, "the isolated server leads no more", func() bool {
		contradicted = contradicted || log.Contains(ingest.StreamRegressed)
		_, stops := eventstest.Metrics(t, registry)["callboard_projector_stopped 0 "+ingest.StreamRegressed]
		stopped = stopped || stops
		return !leads(t.Context(), isolated)
	})
	rejoin()
	since := time.Now()
	eventstest.Eventually(t, "a watermark of the healed cluster", func() bool {
		return schematest.QueryOne[bool](t, pool, "select exists (select 1 from projection.position where watermark > $1)", since)
	})
	if stopped {
		t.Errorf("the isolated server stopped the partition: %s", log)
	}
	return contradicted
}

// leads tells whether a server answers as the leader of the stream.
func leads(ctx context.Context, js jetstream.JetStream) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, events.StreamName)
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return err == nil && stream.CachedInfo().Cluster.Leader != ""
}
