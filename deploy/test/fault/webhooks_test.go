package fault_test

import (
	"crypto/rand"
	"syscall"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// Senders are killed again and again under load. Every event arrives; a kill repeats the requests in flight, and no
// other.
func TestWebhooks_SendersKilled(t *testing.T) {
	kills := 25
	if eventstest.LongWanted() {
		kills = 200
	}
	w := newWebhooks(t)
	tick := time.NewTicker(115 * time.Millisecond) // the load's interval would let every kill meet the same endpoints' requests
	defer tick.Stop()
	for n := range kills {
		<-tick.C
		s := w.senders[n%len(w.senders)]
		if n%5 == 0 {
			s = w.killInFlight()
		} else {
			w.awaitRequests(1)
			w.interrupt(s, s.Kill)
		}
		s.Start()
	}
	w.finish()
	w.check()
}

// The endpoints of a sender that is frozen are another sender's soon, although its transaction holds locks. When it
// resumes it has lost them.
func TestWebhooks_SenderFrozen(t *testing.T) {
	w := newWebhooks(t)
	w.publishBurst()
	s := w.busiest()
	f := w.block("lock table webhook.finished in share mode")
	defer f.unblock()
	eventstest.Eventually(t, "the sender is blocked while it records outcomes", func() bool {
		return w.queryInt("select count(*) from pg_stat_activity where application_name like $1 and $2 = any (pg_blocking_pids(pid))",
			sessionsOf(s), f.backend()) > 0
	})
	since := time.Now()
	list := w.interrupt(s, func() { s.Signal(syscall.SIGSTOP) })
	f.unblock()
	t.Logf("another sender sent to %d endpoints after %s", len(list), round(w.awaitTakenOver(list, since)))
	s.Signal(syscall.SIGCONT)
	w.awaitShared()
	w.awaitRequests(200)
	w.finish()
	w.check()
}

// The projector, NATS and PostgreSQL are killed under load.
func TestWebhooks_ServersKilled(t *testing.T) {
	w := newWebhooks(t)
	for range 3 {
		for _, kill := range []func(*harness){(*harness).killProjector, (*harness).killNATS} {
			w.awaitRequests(200)
			kill(w.harness)
		}
		w.awaitRequests(200)
		w.killPostgres()
		w.allowRequestsInFlight()
	}
	w.awaitRequests(200)
	w.awaitShared()
	w.finish()
	w.check()
}

// The last commits are lost with the primary. The events that follow from them arrive again, the same as before.
func TestWebhooks_AsynchronousFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	r := &replicas{harness: &harness{tb: t}, password: rand.Text()}
	r.startDatabases(t)
	r.pool = schematest.OpenPool(t, r.bothURL("postgres", "read-write"))
	w := startWebhooks(t, r.harness, func(role string) string { return r.bothURL(role, "read-write") })
	w.awaitRequests(500)
	kept := w.receiver.events()
	r.awaitReplicated()
	resume := r.wal.Pause()
	defer resume()
	replicated := w.receiver.events()
	w.awaitRequests(500)
	eventstest.Eventually(t, "more events at every endpoint", func() bool {
		for e, n := range w.receiver.events() {
			if n == replicated[e] {
				return false
			}
		}
		return true
	})
	r.failOver()
	resume()
	for e, n := range w.receiver.events() {
		e.maxRepeated = n - kept[e] + webhookConcurrency // and what was in flight then
	}
	w.allowRequestsInFlight()
	w.awaitRequests(500)
	w.awaitShared()
	w.finish()
	w.check()
	for _, e := range w.receiver.endpoints {
		if e.repeated == 0 {
			t.Errorf("endpoint %s: repeated requests = 0, want more: no commit was lost", e.path)
		}
	}
}
