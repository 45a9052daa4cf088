package rebuild_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/eventstest/wallclock"
	"callboard/projector"
	"callboard/projector/fold"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// clockJumps is a harness whose NATS server has a wall clock that jumps. One phone system gets calls all the time. In the partition of the other
// one there are clock messages only, unless a test publishes a call.
type clockJumps struct {
	*callLoad
	server     *wallclock.Server
	jump       time.Duration
	busy, idle uuid.UUID
}

func newClockJumps(t *testing.T, jump, ahead time.Duration) *clockJumps {
	t.Helper()
	server := wallclock.NewServer(t)
	h := newHarness(t, projectortest.WithNATS(server.URL(), 1))
	h.ahead = ahead
	l := &clockJumps{server: server, jump: jump, busy: h.NewSystemIn(0), idle: h.NewSystemIn(1)}
	h.StartProjector(func(c *projector.Config) { c.BatchSize = 20 })
	h.PublishStates(projectortest.PhoneSystem(l.busy), projectortest.PhoneSystem(l.idle))
	l.callLoad = h.startCallLoad(l.busy)
	return l
}

// once publishes a single call while the clock has jumped.
func (l *clockJumps) once(system uuid.UUID) {
	l.Helper()
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.server.SetClock(l.jump)
	l.publishCall(system)
	l.server.SetClock(0)
}

// awaitClockMessages waits until the stream has stored more clock messages.
func (l *clockJumps) awaitClockMessages(more int) {
	l.Helper()
	var last uint64
	for range more + 1 {
		before := last
		eventstest.Eventually(l, "a clock message", func() bool {
			m, err := l.Stream.GetLastMsgForSubject(l.Context(), events.ClockSubject)
			if err != nil {
				l.Fatal(err)
			}
			last = m.Sequence
			return last > before
		})
	}
}

// checkAfter checks that the jump, which is over, has no consequence: times of new rows and watermarks are the stream's.
func (l *clockJumps) checkAfter(jump string) {
	l.Helper()
	over := time.Now().Truncate(time.Millisecond)
	l.publish(l.busy)
	l.publish(l.idle)
	l.WaitUntilCaughtUp()
	const since = "select count(distinct system_id) from projection.call_log where updated_at >= $1 and system_id = any($2)"
	l.requireCount("phone systems with calls after "+jump, 2, since, over, []uuid.UUID{l.busy, l.idle})
	eventstest.Eventually(l, "the watermark of every partition is later than "+jump, func() bool {
		return l.QueryInt("select count(*) from projection.position where watermark > $1", over) == int64(l.Partitions)
	})
	l.requireVerified("after " + jump)
}

// jumpInFollow lets the clock jump while a rebuild follows the live generation.
func (l *clockJumps) jumpInFollow() {
	l.Helper()
	result := l.rebuild(onStep(rebuild.StepFollow, func() {
		l.server.SetClock(l.jump)
		l.publish(l.idle)
		l.awaitClockMessages(2)
	}))
	if result.Comparison.Differs() {
		l.Errorf("comparison = %+v, want no difference", result.Comparison)
	}
	l.server.SetClock(0)
}

// However the wall clock of the NATS server jumps, no time is ahead of this host's clock by more than is accepted, no row appears behind a
// watermark that a reader has seen, no event is missed, and a replay gives the same rows.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ jump, ahead time.Duration }{
		"a day ahead": {day, 0},
		// What is ahead by less than MaxAhead when it is received is accepted.
		"61 seconds ahead": {61 * time.Second, time.Duration(fold.MaxAhead) * time.Millisecond},
		"an hour behind":   {-time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newClockJumps(t, test.jump, test.ahead)
			stopReaders := l.startReaders(l.busy, l.idle)
			l.once(l.busy)
			l.once(l.idle)
			l.checkAfter("a jump for one message")
			l.server.SetClock(test.jump)
			l.awaitClockMessages(20)
			l.publish(l.idle)
			l.server.SetClock(0)
			l.checkAfter("a jump for some time")
			l.jumpInFollow()
			l.checkAfter("a jump in a rebuild")

			l.server.SetClock(test.jump)
			l.publish(l.idle)
			l.awaitClockMessages(20)
			l.requireVerified("while the clock stays where it is")
			l.stop()
			l.WaitUntilCaughtUp()
			stopReaders()
			l.requireCalls(l.acknowledged.Load())
			if test.jump == day {
				l.requireCaps()
			}
			l.requireRebuilt()
		})
	}
}

// An earlier release took over the times of a jump of a day. A rebuild that distrusts the stream's times brings rows and watermarks back to the present, clients
// that walk by updatedAt meet the rows that moved, and later replays give the same rows.
func TestRun_Distrust(t *testing.T) {
	t.Parallel()
	server := wallclock.NewServer(t)
	h := newHarness(t, projectortest.WithNATS(server.URL(), 1))
	busy, idle := h.NewSystemIn(0), h.NewSystemIn(1)
	stop := h.StartProjector(func(c *projector.Config) { c.Now = func() time.Time { return time.Now().Add(2 * day) } })
	h.PublishStates(projectortest.PhoneSystem(busy), projectortest.PhoneSystem(idle), projectortest.Call(busy, uuid.New()))
	before := projectortest.Call(idle, uuid.New())
	h.PublishStates(before)
	server.SetClock(day)
	h.PublishStates(projectortest.Call(busy, uuid.New()), projectortest.Call(busy, uuid.New()))
	h.WaitUntilCaughtUp()
	server.SetClock(0)
	h.PublishStates(projectortest.Call(busy, uuid.New()), projectortest.Call(idle, uuid.New()))
	h.WaitUntilCaughtUp()
	stop()
	const ahead = "select count(*) from projection.call_log where updated_at > now() + interval '1 hour'"
	h.requireCount("calls that changed tomorrow", 4, ahead)

	unmoved := h.calls()[before.ID]
	asked := time.Now()
	result := h.rebuild(func(c *rebuild.Config) { c.Distrust = true })
	if result.Distrusted < 2 || result.Comparison.ChangedCalls != 4 {
		t.Errorf("distrusted messages = %d, changed calls = %d, want 2 or more, 4", result.Distrusted, result.Comparison.ChangedCalls)
	}
	h.requireCount("calls that changed tomorrow, rebuilt", 0, ahead)
	h.requireCount("watermarks of tomorrow", 0, "select count(*) from projection.position where watermark > now() + interval '1 minute'")
	stop = h.StartProjector()
	h.PublishStates(projectortest.Call(busy, uuid.New()), projectortest.Call(idle, uuid.New()))
	h.WaitUntilCaughtUp()
	h.waitUntilCorrected()
	stop()
	h.requireCount("calls that clients meet", 6, "select count(*) from projection.call_log where updated_at between $1 and now() + interval '1 minute'",
		asked.Truncate(time.Millisecond))
	if got := h.calls()[before.ID]; !got.Equal(unmoved) {
		t.Errorf("updatedAt of a call before the jump = %v, want %v", got, unmoved)
	}
	h.requireVerified("rebuilt")
	h.requireRebuilt()
}
