package projector_test

import (
	"math"
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

// A clock message costs one transaction, however many partitions are idle, and no request. One busy partition changes
// nothing for the others.
func TestProjector_IdleCost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partitions     int
		busy           bool
		others, asking float64 // at most in a tick
	}{
		"idle": {partitions: 128, others: 0.5, asking: 0.5}, // requests: 2 in 10 ticks, and those that count pending messages
		"busy": {partitions: 16, busy: true, others: math.Inf(1), asking: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, projectortest.WithPartitions(c.partitions))
			var requests, moves, others atomic.Int64
			h.countRequests(&requests)
			// Statements and pipelines. Outside of a transaction each of them is one.
			tracer := &schematest.Tracer{
				Statement: func(string, []any) { others.Add(1) },
				Batch:     func() { moves.Add(1) },
			}
			const tick = 50 * time.Millisecond
			log := new(eventstest.LogBuffer)
			h.StartProjector(projectortest.LogTo(log), func(c *projector.Config) {
				c.Tick, c.Database = tick, schematest.OpenTracedPool(t, c.Database, tracer)
			})
			system := h.NewSystemIn(5)
			h.Apply(projectortest.PhoneSystem(system))
			publish := func() {
				if c.busy {
					h.PublishStates(projectortest.Call(system, uuid.New()))
				}
			}

			eventstest.Eventually(t, "a measurement in which no partition starts again", func() bool {
				stops := log.Count("partition stopped") // after a delivery that takes more than a second
				began := time.Now()
				eventstest.Eventually(t, "every watermark past this moment", func() bool {
					publish()
					const past = "select count(*) from projection.position where watermark > $1"
					return h.QueryInt(past, began) == int64(c.partitions)
				})
				began = time.Now()
				clocks, before := h.clocks(), [3]int64{moves.Load(), others.Load(), requests.Load()}
				eventstest.Eventually(t, "20 clock messages", func() bool {
					publish()
					return h.clocks() >= clocks+20
				})
				after := [3]int64{moves.Load(), others.Load(), requests.Load()}
				if log.Count("partition stopped") != stops {
					return false
				}

				// On a busy machine there are fewer clock messages than ticks. Nothing but the moves follows them.
				ticks := float64(time.Since(began)) / float64(tick)
				if got := float64(after[0]-before[0]) / float64(h.clocks()-clocks); !c.busy && got > 1.2 {
					t.Errorf("moves per clock message = %.2f, want 1", got)
				}
				if got := float64(after[1]-before[1]) / ticks; got > c.others {
					t.Errorf("other transactions per tick = %.2f, want at most %.1f", got, c.others)
				}
				if got := float64(after[2]-before[2]) / ticks; got > c.asking {
					t.Errorf("requests to JetStream per tick = %.2f, want at most %.1f", got, c.asking)
				}
				return true
			})
		})
	}
}

// Several projectors store no more clock messages than one, and each tries no more often than it would alone.
// Nobody who publishes events can take clock messages in advance.
func TestProjector_ProjectorsShareClockMessages(t *testing.T) {
	h := newHarness(t)
	const interval = 50 * time.Millisecond
	var attempts atomic.Int64
	subscription, err := h.JetStream.Conn().Subscribe(events.ClockSubject, func(*nats.Msg) { attempts.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	for partition := range projectortest.Partitions {
		h.StartProjector(func(c *projector.Config) { c.Partitions, c.Clock = []int{partition}, interval })
	}
	h.Apply(projectortest.PhoneSystem(uuid.New()))
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
	h := newHarness(t)
	h.StartProjector()
	h.Apply(projectortest.PhoneSystem(uuid.New()))
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
	h := newHarness(t)
	log := new(eventstest.LogBuffer)
	h.StartProjector(projectortest.LogTo(log), productionTick, func(c *projector.Config) { c.Partitions = []int{0, 1, 2, 3} })
	h.Apply(projectortest.PhoneSystem(uuid.New()))
	epochs := h.epochs()
	h.Exec("update projection.position set epoch = epoch + 1 where partition = 2")
	eventstest.Eventually(t, "another claim", func() bool { return h.epochs() == epochs+2 })
	if log.Count("partition stopped") != 1 {
		t.Errorf("partitions stopped = %d, want 1", log.Count("partition stopped"))
	}
}
