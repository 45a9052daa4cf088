package projector_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/projector/projectortest"
	"callboard/schema/schematest"
)

// While nothing happens, a clock message costs as many requests and transactions for many partitions as for few.
func TestProjector_IdleCost(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{16, 128} {
		t.Run(strconv.Itoa(partitions), func(t *testing.T) {
			t.Parallel()
			h := &harness{projectortest.NewHarness(t, projectortest.WithPartitions(partitions))}
			var requests atomic.Int64
			h.countRequests(&requests)
			// Statements and pipelines. Outside of a transaction each of them is one.
			var idleMoves, otherTransactions atomic.Int64
			tracer := &schematest.Tracer{
				Statement: func(string, []any) { otherTransactions.Add(1) },
				Batch:     func() { idleMoves.Add(1) },
			}
			var interval time.Duration
			log := new(eventstest.LogBuffer)
			h.StartProjector(projectortest.LogTo(log), func(c *projector.Config) {
				interval = c.Tick
				c.Database = schematest.OpenTracedPool(t, c.Database, tracer)
			})
			h.PublishStates(projectortest.PhoneSystem(uuid.New()))
			h.WaitUntilCaughtUp()
			var moves, others, asked float64
			measure := func() {
				began := time.Now()
				eventstest.Eventually(t, "every watermark past this moment", func() bool {
					return h.QueryInt("select count(*) from projection.position where watermark > $1", began) == int64(partitions)
				})
				// What is counted is read within the time and the clock messages that it is divided by: this goroutine may
				// pause between them.
				began = time.Now()
				clocksBefore, movesBefore := h.clocks(), idleMoves.Load()
				requestsBefore, othersBefore := requests.Load(), otherTransactions.Load()
				eventstest.Eventually(t, "100 clock messages", func() bool { return h.clocks() >= clocksBefore+100 })
				moves, others = float64(idleMoves.Load()-movesBefore), float64(otherTransactions.Load()-othersBefore)
				asked = float64(requests.Load() - requestsBefore)
				// On a busy machine there are fewer clock messages than intervals. Nothing but the moves follows them.
				intervals := float64(time.Since(began)) / float64(interval)
				moves, others, asked = moves/float64(h.clocks()-clocksBefore), others/intervals, asked/intervals
			}
			eventstest.Eventually(t, "a measurement in which no partition starts again", func() bool {
				stops := log.Count("partition stopped") // after a delivery that takes more than a second
				measure()
				return log.Count("partition stopped") == stops
			})
			t.Logf("moves per clock message = %.2f; per tick: other transactions = %.2f, requests to JetStream = %.2f", moves, others, asked)
			if moves > 1.1 {
				t.Errorf("moves per clock message = %.2f, want 1", moves)
			}
			if others > 0.5 {
				t.Errorf("other transactions per tick = %.2f, want at most 0.5", others)
			}
			if asked > 0.5 { // 2 in 10 ticks, and those that count pending messages
				t.Errorf("requests to JetStream per tick = %.2f, want at most 0.5", asked)
			}
		})
	}
}

// Several projectors store no more clock messages than one, and each tries no more often than it would alone.
// Nobody who publishes events can take clock messages in advance.
func TestProjector_ProjectorsShareClockMessages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const interval = 200 * time.Millisecond
	var attempts atomic.Int64
	subscription, err := h.JetStream.Conn().Subscribe(events.ClockSubject, func(*nats.Msg) { attempts.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	for partition := range projectortest.Partitions {
		h.StartProjector(func(c *projector.Config) { c.Partitions, c.Clock = []int{partition}, interval })
	}
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	h.WaitUntilCaughtUp()
	subject := events.Subject(h.NewSystemIn(0), events.EntityCall)
	for sequence := range 300 {
		h.PublishRaw(subject, nats.Header{jetstream.MsgIDHeader: {"clock/" + strconv.Itoa(sequence) + "/0"}}, "taken in advance")
	}
	began, before, attemptsBefore := time.Now(), h.clocks(), attempts.Load()
	eventstest.Eventually(t, "20 clock messages", func() bool { return h.clocks() >= before+20 })
	stored, tried, most := h.clocks()-before, attempts.Load()-attemptsBefore, float64(time.Since(began))/float64(interval)+1
	if float64(stored) > most {
		t.Errorf("clock messages = %d in %.1f intervals, want one for each", stored, most-1)
	}
	// A tick is shorter than the interval, and an attempt follows a tick after one that stored nothing.
	if float64(tried) > 2*projectortest.Partitions*most {
		t.Errorf("attempts = %d in %.1f intervals, want at most two of each projector", tried, most-1)
	}
	t.Logf("in %.1f intervals: clock messages = %d, attempts = %d", most-1, stored, tried)
}

// clocks returns how many clock messages the stream has.
func (h *harness) clocks() int64 {
	h.Helper()
	info, err := h.Stream.Info(h.Context(), jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		h.Fatal(err)
	}
	return int64(info.State.Subjects[events.ClockSubject])
}

// countRequests counts the requests to JetStream: all but those for messages, and those of this test for the
// stream's state.
func (h *harness) countRequests(requests *atomic.Int64) {
	h.Helper()
	subscription, err := h.JetStream.Conn().Subscribe("$JS.API.>", func(m *nats.Msg) {
		if !strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.MSG.NEXT.") && !strings.Contains(string(m.Data), events.ClockSubject) {
			requests.Add(1)
		}
	})
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = subscription.Unsubscribe() })
}

// A position that a transaction holds, such as a repair, keeps no other watermark from moving.
func TestProjector_IdleWatermarksPassAHeldPosition(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.StartProjector()
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	h.WaitUntilCaughtUp()
	held, err := h.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(t.Context()) }()
	if _, err := held.Exec(t.Context(), "update projection.position set epoch = epoch where partition = 2"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	count := func() int64 {
		return h.QueryInt("select count(*) from projection.position where watermark > $1", began)
	}
	eventstest.Eventually(t, "the other watermarks past this moment", func() bool { return count() == projectortest.Partitions-1 })
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventstest.Eventually(t, "every watermark past this moment", func() bool { return count() == projectortest.Partitions })
}

// When the epoch of an idle partition is raised, its owner claims it again.
func TestProjector_ClaimsAnIdlePartitionAgainAfterItsEpochRose(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log), productionTick, func(c *projector.Config) { c.Partitions = []int{0, 1, 2, 3} })
	h.PublishStates(projectortest.PhoneSystem(uuid.New()))
	h.WaitUntilCaughtUp()
	epochs := h.epochs()
	h.Exec("update projection.position set epoch = epoch + 1 where partition = 2")
	eventstest.Eventually(t, "another claim", func() bool { return h.epochs() == epochs+2 })
	if log.Count("partition stopped") != 1 {
		t.Errorf("partitions stopped = %d, want 1", log.Count("partition stopped"))
	}
}

// While one partition gets messages, the others are moved together, and take no requests.
func TestProjector_IdleCostBesideABusyPartition(t *testing.T) {
	t.Parallel()
	const partitions = 16
	h := &harness{projectortest.NewHarness(t, projectortest.WithPartitions(partitions))}
	var requests atomic.Int64
	h.countRequests(&requests)
	const tick = 200 * time.Millisecond
	h.StartProjector(func(c *projector.Config) { c.Tick = tick })
	system := h.NewSystemIn(5)
	h.PublishStates(projectortest.PhoneSystem(system))
	h.WaitUntilCaughtUp()
	began := time.Now()
	clocksBefore, requestsBefore := h.clocks(), requests.Load()
	eventstest.Eventually(t, "40 clock messages", func() bool {
		h.PublishStates(projectortest.Call(system, uuid.New()))
		return h.clocks() >= clocksBefore+40
	})
	asked := float64(requests.Load()-requestsBefore) / (float64(time.Since(began)) / float64(tick))
	t.Logf("requests to JetStream per tick = %.2f", asked)
	if asked > 1 { // those that check the stream, and those that count pending messages
		t.Errorf("requests to JetStream per tick = %.2f, want at most 1", asked)
	}
	began = time.Now()
	eventstest.Eventually(t, "every watermark past this moment", func() bool {
		h.PublishStates(projectortest.Call(system, uuid.New()))
		return h.QueryInt("select count(*) from projection.position where watermark > $1", began) == partitions
	})
}
