//go:build linux

package load_test

import (
	"fmt"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
)

const (
	// hooksPerSecond is the rate at which calls end while latency is measured.
	hooksPerSecond = 50

	// hooksBacklog is how many webhooks wait when the rate of senders is measured, for hooksEndpoints endpoints.
	hooksBacklog   = 20_000
	hooksEndpoints = 16
)

// TestWebhooks measures how soon webhooks arrive, how many senders send a second, and what notices cost the
// projector. It prints medians and checks no figure.
func TestWebhooks(t *testing.T) {
	if !*webhooksFlag {
		t.Skip("run it with -webhooks")
	}
	t.Run("latency, 1 endpoint", hookLatency(1, 0))
	t.Run("latency, 1000 endpoints, of which 20 hang and 20 refuse", hookLatency(1000, 20))
	t.Run("rate", measureHookRate)
	t.Run("cost", measureNoticeCost)
}

func startHooks(t *testing.T, endpoints int, behaviour func(n int) string) *hooks {
	t.Helper()
	i := startServers(t, nil, nil)
	i.newDatabase("callboard")
	i.startProjector()
	return newHooks(i, endpoints, behaviour)
}

// hookLatency returns a test that ends calls at a constant rate, and measures from the acknowledgement of each to
// its request. bad is the number of endpoints that hang, and the number of endpoints that refuse.
func hookLatency(endpoints, bad int) func(*testing.T) {
	return func(t *testing.T) {
		h := startHooks(t, endpoints, func(n int) string {
			switch {
			case n < bad:
				return hangs
			case n < 2*bad:
				return refuses
			}
			return accepts
		})
		sender := h.startSender("webhooks")
		h.warmUp(2 * bad)
		var f figures
		for range *roundsFlag {
			latencies := h.latencies(2 * bad)
			f.add("ms from the acknowledgement to the request, p50 (at most 30)", percentile(latencies, 50).Seconds()*1000)
			f.add("ms from the acknowledgement to the request, p99 (at most 100)", percentile(latencies, 99).Seconds()*1000)
		}
		_, highest := memory(sender)
		f.add("MiB of memory of the sender, at most", float64(highest))
		t.Logf("%d events/s, medians of %d rounds of %s\n%s", hooksPerSecond, *roundsFlag, *durationFlag, f.medians())
	}
}

// warmUp waits until the sender has sent something to a healthy endpoint.
func (h *hooks) warmUp(from int) {
	h.Helper()
	e, sid := endedCall(h.systems[from])
	if err := h.publisher.Publish(h.Context(), e); err != nil {
		h.Fatal(err)
	}
	h.awaitArrival(sid)
}

func (h *hooks) awaitArrival(callSid string) (at time.Time) {
	h.Helper()
	eventstest.Eventually(h, "the webhook of "+callSid, func() (ok bool) {
		at, ok = h.arrival(callSid)
		return ok
	})
	return at
}

// latencies ends calls of all phone systems in turn, and returns the latencies of those from an index on.
func (h *hooks) latencies(healthy int) (list []time.Duration) {
	h.Helper()
	h.reset()
	acknowledged := make(map[string]time.Time)
	tick := time.NewTicker(time.Second / hooksPerSecond)
	defer tick.Stop()
	began := time.Now()
	for n := 0; time.Since(began) < *durationFlag; n++ {
		<-tick.C
		system := n * 7 % len(h.systems) // not in the order of registration
		e, sid := endedCall(h.systems[system])
		if err := h.publisher.Publish(h.Context(), e); err != nil {
			h.Fatal(err)
		}
		if system >= healthy {
			acknowledged[sid] = time.Now()
		}
	}
	for sid, at := range acknowledged {
		list = append(list, h.awaitArrival(sid).Sub(at))
	}
	return list
}

// measureHookRate lets a backlog wait, and measures how fast one and two senders send it.
func measureHookRate(t *testing.T) {
	h := startHooks(t, hooksEndpoints, func(int) string { return accepts })
	var f figures
	for range *roundsFlag {
		one, two := h.rate(1), h.rate(2)
		f.add("webhooks/s of a sender (at least 500)", one)
		f.add("webhooks/s of two senders", two)
		f.add("of the rate of one sender (at least 1.5)", two/one)
	}
	t.Logf("%d webhooks for %d endpoints, medians of %d rounds\n%s", hooksBacklog, hooksEndpoints, *roundsFlag, f.medians())
}

// rate returns how many webhooks senders send a second.
func (h *hooks) rate(senders int) float64 {
	h.Helper()
	h.reset()
	h.publishBacklog(hooksBacklog)
	began := time.Now()
	var processes []*process
	for n := range senders {
		processes = append(processes, h.startSender(fmt.Sprintf("webhooks-%d", n)))
	}
	eventstest.Eventually(h, "all webhooks", func() bool {
		different, _, _ := h.received()
		return different == hooksBacklog
	})
	_, total, last := h.received()
	eventstest.Eventually(h, "all deliveries are recorded", func() bool { return query[int64](h.installation, "select count(*) from webhook.waiting") == 0 })
	for _, p := range processes {
		p.KillIfRunning()
	}
	if total != hooksBacklog {
		h.Errorf("requests = %d, want %d", total, hooksBacklog)
	}
	return float64(hooksBacklog) / last.Sub(began).Seconds()
}

// publishBacklog ends calls of all phone systems in turn, and waits for their notices.
func (h *hooks) publishBacklog(calls int) {
	h.Helper()
	notices := func() int64 { return query[int64](h.installation, "select count(*) from webhook.notice") }
	before := notices()
	list := make([]events.Event, calls)
	for n := range list {
		list[n], _ = endedCall(h.systems[n%len(h.systems)])
	}
	if err := h.publisher.Publish(h.Context(), list...); err != nil {
		h.Fatal(err)
	}
	eventstest.Eventually(h, "all notices", func() bool { return notices() == before+int64(calls) })
}

// measureNoticeCost measures the projector on a backlog without an endpoint and with one, in turns.
func measureNoticeCost(t *testing.T) {
	company := sample.New(sample.Config{Seed: 1, Systems: *systemsFlag, Calls: *callsFlag})
	i := startServers(t, company, nil)
	published, err := sample.Publish(t.Context(), i.publisher, company, 0, func(sample.Counts) {})
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	for round := range *roundsFlag {
		rate := func(endpoint bool) float64 {
			i.newDatabase(fmt.Sprintf("round_%d_%t", round, endpoint))
			defer i.dropDatabase()
			if endpoint {
				i.exec(`insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state) values
					(gen_random_uuid(), 'load', 'https://hooks.example.com', '{call.ended}', 'system', gen_random_uuid(), 'active')`)
			}
			worked := i.workOff(published.Events)
			f.add(fmt.Sprintf("notices with an endpoint: %t", endpoint), float64(query[int64](i, "select count(*) from webhook.notice")))
			return float64(published.Events) / worked.elapsed.Seconds()
		}
		without, with := rate(false), rate(true)
		f.add("events/s without an endpoint", without)
		f.add("events/s with an endpoint", with)
		f.add("of the rate without (at least 0.90)", with/without)
	}
	t.Logf("%d events of %d phone systems, medians of %d rounds\n%s", published.Events, *systemsFlag, *roundsFlag, f.medians())
}
