package scenario_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/webhook/registry"
)

// stream publishes calls that have ended until stop is called, which returns their sids by sequence.
func (h *harness) stream(system uuid.UUID) (stop func() map[uint64]string) {
	h.Helper()
	sids := make(map[uint64]string)
	done := make(chan struct{})
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			c := call(system, uuid.New(), 1)
			e := events.Changed(c)
			e.ID, e.Source = uuid.NewString(), "stream"
			m, err := events.Encode(e)
			if err != nil {
				h.Error(err)
				return
			}
			ack, err := h.JetStream.PublishMsg(h.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
			if err != nil {
				h.Error(err)
				return
			}
			sids[ack.Sequence] = c.CallSid
		}
	})
	return func() map[uint64]string {
		close(done)
		publishing.Wait()
		return sids
	}
}

// An endpoint that is added while events are published gets all after the sequence at which it was activated, and none before.
func TestWebhooks_AddedUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	system := uuid.New()
	h.apply(events.Changed(phoneSystem(system, 1, "Busy")))
	applied := func(count int64) func() bool {
		return func() bool { return h.QueryInt("select count(*) from projection.call_log") >= count }
	}
	for range 3 { // with recorded notices of earlier endpoints, too
		stop := h.stream(system)
		before := h.QueryInt("select count(*) from projection.call_log")
		eventstest.Eventually(t, "calls are applied", applied(before+200))
		k := h.startHooks(registry.Target{Kind: registry.System, ID: system}, nil, nil)
		eventstest.Eventually(t, "more calls are applied", applied(before+600))
		sids := stop()
		from := uint64(h.QueryInt("select from_sequence from webhook.endpoint where id = $1", k.id))
		var want, got []string
		for sequence, sid := range sids {
			if sequence > from {
				want = append(want, sid)
			}
		}
		for _, r := range k.settle() {
			got = append(got, r.Data.CallSid)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("events = %d, want the %d calls after sequence %d", len(got), len(want), from)
		}
		if _, err := k.registry.Remove(t.Context(), k.id, func(int64) {}); err != nil {
			t.Fatal(err)
		}
	}
}
