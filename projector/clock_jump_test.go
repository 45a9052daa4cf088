package projector_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/eventstest/wallclock"
	"callboard/projector/projectortest"
	"callboard/projector/rebuild"
)

// A projector is killed between commits of messages that it has capped, while the clock of the stream's server is a day ahead. The next
// one starts when that clock is right again. It caps what was stored in between, and the times that were committed stay.
func TestProjector_KilledWhileTheServersClockIsAhead(t *testing.T) {
	t.Parallel()
	server := wallclock.NewServer(t)
	h := newHarness(t, projectortest.WithNATS(server.URL(), 1))
	system := h.NewSystemIn(0)
	child := h.spawn()
	h.publishCall(system)
	server.SetClock(day)
	published := int64(1)
	stopPublishing := eventstest.Run(t, func(ctx context.Context) error {
		for ; ctx.Err() == nil; published++ {
			if err := h.Publisher.Publish(t.Context(), events.Changed(projectortest.Call(system, uuid.New()))); err != nil {
				return err
			}
		}
		return nil
	})
	eventstest.Eventually(t, "commits with caps", func() bool { return h.QueryInt("select count(*) from control.clock_cap") >= 3 })
	eventstest.KillChild(t, child)
	killedAt := h.applied()
	eventstest.Eventually(t, "messages that no projector has seen", h.unapplied)
	stopPublishing()
	server.SetClock(0)
	h.Exec("create table committed as select id, updated_at from projection.call_log")

	child = h.spawn()
	h.publishCall(system)
	published++
	eventstest.KillChild(t, child)
	if h.applied() <= killedAt {
		t.Errorf("positions = %d, want more than %d", h.applied(), killedAt)
	}
	h.checkCalls(published)
	const moved = "select count(*) from committed b left join projection.call_log c using (id) where c.updated_at is distinct from b.updated_at"
	if n := h.QueryInt(moved); n != 0 {
		t.Errorf("calls whose committed times have moved = %d, want 0", n)
	}
	const ahead = `
		select (select count(*) from projection.call_log where updated_at > $1)
			+ (select count(*) from projection.position where watermark > $1)`
	if n := h.QueryInt(ahead, time.Now()); n != 0 {
		t.Errorf("calls and watermarks ahead of this host's clock = %d, want 0", n)
	}
	config := rebuild.Config{JetStream: h.JetStream, Stream: events.StreamName, Database: h.Pool}
	if result, err := rebuild.Verify(t.Context(), config, uuid.NullUUID{}); err != nil || result.Differs() {
		t.Errorf("verified: comparison = %+v, error = %v, want no difference", result, err)
	}
	h.checkApplyingAgain()
}
