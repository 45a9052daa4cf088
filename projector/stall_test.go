package projector_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

// A stall of the server, for longer than an owner may be silent, ends no partition: neither by the owner nor by the
// standby.
func TestProjector_OwnsPartitionsBeyondAStallOfTheServer(t *testing.T) {
	eventstest.Long(t)
	h := newHarness(t)
	address, err := url.Parse(h.Database.RoleURL("callboard_projector"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := eventstest.NewProxy(t, address.Host)
	address.Host = proxy.Addr()
	proxied := address.String() + "&search_path=projection"
	log := new(eventstest.LogBuffer)
	throughProxy := func(c *projector.Config) {
		c.Database, c.OwnerChecks = schematest.OpenPool(t, proxied), 20
		productionTick(c)
		projectortest.LogTo(log)(c)
	}
	h.StartProjector(throughProxy)
	system := uuid.New()
	h.publishCall(system)
	standby := prometheus.NewRegistry()
	h.StartProjector(throughProxy, exportTo(standby))
	waitForSum(t, standby, "callboard_projector_owned", 0)
	before := h.epochs()
	resume := proxy.Pause()
	defer resume()
	stalled, cancel := context.WithTimeout(t.Context(), 14*time.Second)
	defer cancel()
	if err := schematest.OpenPool(t, proxied).Ping(stalled); err == nil {
		t.Fatal("error of a stalled server = nil, want one")
	}
	resume()
	h.publishCall(system)
	if now := h.epochs(); now != before {
		t.Errorf("epochs after the stall = %d, want %d", now, before)
	}
	for _, message := range []string{"terminated unresponsive projector", "partition stopped", "session lost"} {
		if log.Contains(message) {
			t.Errorf("the log contains %q, want no such message", message)
		}
	}
}

// A host can disappear without closing its connections. No statement of a projector waits for it until the
// operating system gives up.
func TestProjector_LimitsEveryStatement(t *testing.T) {
	h := newHarness(t)
	limited := func(c *projector.Config) {
		c.Database = schematest.OpenLimitedPool(t, c.Database)
		c.Control = schematest.OpenLimitedPool(t, c.Database)
	}
	system := uuid.New()
	stop := h.StartProjector(limited)
	h.PublishStates(projectortest.PhoneSystem(system))
	h.publishCall(system)
	stop()
	// As a switch does, it fences a statement of the projector that PostgreSQL may still execute.
	h.Exec("update projection.position set epoch = epoch + 1 where partition = $1", events.Partition(system, h.Partitions))
	h.StartProjector(limited)
	h.publishCall(system)
	h.WaitUntilCaughtUp()
}

// A request to NATS that is lost while a server restarts ends after the client's five seconds, if its context has
// no deadline. With a long one the partition would wait for that.
func TestProjector_LimitsNoRequestItself(t *testing.T) {
	h := newHarness(t)
	h.StartProjector(func(c *projector.Config) { c.JetStream = requests{c.JetStream, t} })
	h.publishCall(uuid.New())
}

// requests fails the test if a request for a stream, its state or a message has a deadline.
type requests struct {
	jetstream.JetStream
	tb testing.TB
}

// Stream implements [jetstream.JetStream].
func (r requests) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	requireNoDeadline(ctx, r.tb, "stream "+name)
	stream, err := r.JetStream.Stream(ctx, name)
	return requestsOfStream{stream, r.tb}, err
}

type requestsOfStream struct {
	jetstream.Stream
	tb testing.TB
}

// Info implements [jetstream.Stream].
func (r requestsOfStream) Info(ctx context.Context, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	requireNoDeadline(ctx, r.tb, "state")
	return r.Stream.Info(ctx, options...)
}

// GetMsg implements [jetstream.Stream].
func (r requestsOfStream) GetMsg(ctx context.Context, sequence uint64, options ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	requireNoDeadline(ctx, r.tb, "message")
	return r.Stream.GetMsg(ctx, sequence, options...)
}

func requireNoDeadline(ctx context.Context, tb testing.TB, request string) {
	tb.Helper()
	if at, limited := ctx.Deadline(); limited {
		tb.Errorf("request for %s: deadline in %s, want the client's own", request, time.Until(at).Round(time.Second))
	}
}
