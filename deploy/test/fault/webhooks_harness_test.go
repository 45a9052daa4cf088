package fault_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
)

const (
	webhookSystems     = 4
	endpointsOfSystem  = 2
	webhookConcurrency = 4 // requests at once, to each endpoint
)

// webhooks is callboard with a projector and two senders of webhooks, whose endpoints are in this process.
type webhooks struct {
	*harness
	senders   []*process
	receiver  *receiver
	artifacts *artifacts
}

// newWebhooks starts the programs with one PostgreSQL server, registers the endpoints, and starts the load.
func newWebhooks(t *testing.T) *webhooks {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	h := &harness{tb: t, postgres: newPostgresServer(t)}
	h.createDatabase()
	return startWebhooks(t, h, func(role string) string { return h.postgres.roleURL(role, liveDatabase) })
}

// startWebhooks does so with the database at a role's URL, to which the harness's pool is connected.
func startWebhooks(t *testing.T, h *harness, databaseURL func(role string) string) *webhooks {
	t.Helper()
	n := seed(t)
	h.random = rand.New(rand.NewPCG(n, 1))
	h.nats = newNATSServer(t)
	h.js = h.nats.connect()
	w := &webhooks{harness: h, receiver: newReceiver(t), artifacts: newArtifacts(t, n, events.NewPublisher(h.js, "fault"))}
	env := func(role string) map[string]string {
		return map[string]string{
			"CALLBOARD_NATS_URL":               "nats://" + h.nats.address,
			"CALLBOARD_POSTGRES_URL":           databaseURL(role),
			"CALLBOARD_ADMIN_LISTEN":           "127.0.0.1:0",
			"CALLBOARD_WEBHOOK_KEY":            base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
			"CALLBOARD_WEBHOOK_ALLOW_NETWORKS": "127.0.0.0/8",
			"CALLBOARD_WEBHOOK_CA_FILE":        w.receiver.authority,
			"CALLBOARD_WEBHOOK_RETRIES":        "100ms",
			"CALLBOARD_WEBHOOK_TIMEOUT":        "4m", // requests are counted, so none may be repeated because of a busy machine
		}
	}
	start := func(program, name, role string) *process {
		p := newProcess(t, program, name, env(role))
		p.Start()
		return p
	}
	h.operator = newProcess(t, "callboard", "callboard", env(operatorRole))
	h.createStream()
	h.projectors = []*process{start("projector", "projector", projectorRole)}
	w.senders = []*process{start("webhooks", "sender-1", senderRole), start("webhooks", "sender-2", senderRole)}
	w.artifacts.publishSystems()
	w.awaitCaughtUp()
	w.addEndpoints()
	w.artifacts.start()
	w.awaitShared()
	return w
}

// addEndpoints registers endpoints of every phone system.
func (w *webhooks) addEndpoints() {
	w.tb.Helper()
	for i := range webhookSystems * endpointsOfSystem {
		system := w.artifacts.systems[i%webhookSystems]
		path := "/" + strconv.Itoa(i)
		var added struct {
			ID     uuid.UUID
			Secret string
		}
		w.command(&added, "webhooks", "add", w.receiver.server.URL+path, "--name", path, "--system", system.String(), "--kinds", "all",
			"--concurrency", strconv.Itoa(webhookConcurrency), "--no-test")
		secret, err := webhook.ParseSecret(added.Secret)
		if err != nil {
			w.tb.Fatal(err)
		}
		w.receiver.add(&endpoint{id: added.ID, path: path, system: system, secret: secret, bodies: map[string]string{}})
	}
}

// awaitShared waits until each sender has leased half of the endpoints. All of them get events all the time.
func (w *webhooks) awaitShared() {
	w.tb.Helper()
	eventstest.Eventually(w.tb, "each sender has leased half of the endpoints", func() bool {
		for _, s := range w.senders {
			s.RequireRunning()
			if len(w.leasedBy(w.sessionOf(s))) != webhookSystems*endpointsOfSystem/2 {
				return false
			}
		}
		return true
	})
}

// publishBurst returns when both senders have more to send than fits in flight.
func (w *webhooks) publishBurst() {
	w.tb.Helper()
	w.awaitRequests(200)
	if err := w.artifacts.publish(60); err != nil {
		w.tb.Fatal(err)
	}
	w.awaitRequests(50)
}

// sessionOf returns the process id of the session that has a sender's leases; 0: there is none.
func (w *webhooks) sessionOf(sender *process) int64 {
	w.tb.Helper()
	return w.queryInt("select coalesce(max(pid), 0) from pg_stat_activity where application_name like 'leases:' || $1", sessionsOf(sender))
}

// leasedBy returns the endpoints that a session has leased.
func (w *webhooks) leasedBy(session int64) (list []*endpoint) {
	w.tb.Helper()
	rows, _ := w.pool.Query(w.tb.Context(), "select name from webhook.endpoint where leased_by = $1 and leased_until > now()", session)
	paths, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.tb.Fatal(err)
	}
	for _, path := range paths {
		list = append(list, w.receiver.endpoints[path])
	}
	return list
}

// busiest returns the sender that sends to most endpoints.
func (w *webhooks) busiest() *process {
	w.tb.Helper()
	return slices.MaxFunc(w.senders, func(a, b *process) int {
		return cmp.Compare(len(w.leasedBy(w.sessionOf(a))), len(w.leasedBy(w.sessionOf(b))))
	})
}

// interrupt does something to a sender, which can repeat the requests in flight: as many as each endpoint's
// concurrency. It returns the endpoints that the sender had leased before or afterwards.
func (w *webhooks) interrupt(sender *process, fault func()) (list []*endpoint) {
	w.tb.Helper()
	session := w.sessionOf(sender)
	list = w.leasedBy(session)
	fault()
	for _, e := range w.leasedBy(session) {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	for _, e := range list {
		e.maxRepeated += webhookConcurrency
	}
	return list
}

// killInFlight kills a sender that waits for the answer to a request, and returns it.
func (w *webhooks) killInFlight() (sender *process) {
	w.tb.Helper()
	defer w.receiver.holdAnswers()()
	var aborted int64
	eventstest.Eventually(w.tb, "a sender waits for an answer", func() bool {
		// A held answer can be that of a request of a sender that was killed before. It is counted as aborted later
		// than here.
		aborted = w.receiver.aborted.Load()
		sender = w.busiest()
		return w.receiver.held(w.leasedBy(w.sessionOf(sender))) > 0
	})
	w.interrupt(sender, sender.Kill)
	eventstest.Eventually(w.tb, "a request is aborted", func() bool { return w.receiver.aborted.Load() > aborted })
	return sender
}

// awaitTakenOver waits until another sender has sent to endpoints since an instant, and returns how long that took for
// the last of them.
func (w *webhooks) awaitTakenOver(list []*endpoint, since time.Time) time.Duration {
	w.tb.Helper()
	var ids []uuid.UUID
	for _, e := range list {
		ids = append(ids, e.id)
	}
	const firstAttempts = `
		select count(*), coalesce(max(first), 'epoch')
		from (
		  select min((a->>'at')::timestamptz) as first
		  from webhook.delivery d, jsonb_array_elements(attempts) a
		  where endpoint_id = any ($1)
		    and (a->>'at')::timestamptz > $2
		  group by endpoint_id
		) a`
	var last time.Time
	eventstest.Eventually(w.tb, "another sender sends to all endpoints", func() bool {
		var n int
		if err := w.pool.QueryRow(w.tb.Context(), firstAttempts, ids, since).Scan(&n, &last); err != nil {
			w.tb.Fatal(err)
		}
		return n == len(ids)
	})
	return last.Sub(since)
}

// awaitRequests waits until the endpoints have got more requests.
func (w *webhooks) awaitRequests(more int64) {
	w.tb.Helper()
	target := w.receiver.requests.Load() + more
	eventstest.Eventually(w.tb, fmt.Sprintf("%d more requests", more), func() bool { return w.receiver.requests.Load() >= target })
}

// allowRequestsInFlight allows that requests are repeated after the database was killed. The leases end with it, so
// that a sender can send what another one has in flight or has not recorded yet.
func (w *webhooks) allowRequestsInFlight() {
	for _, e := range w.receiver.endpoints {
		e.maxRepeated += webhookConcurrency + artifactsPerSecond/webhookSystems
	}
}

// finish stops the load, and the senders as soon as they have nothing left to do.
func (w *webhooks) finish() {
	w.tb.Helper()
	w.artifacts.stop()
	w.awaitCaughtUp()
	const behind = `
		select count(*)
		from webhook.floor f
		left join webhook.fanout c using (stream, partition)
		where f.sequence > coalesce(c.sequence, 0)`
	eventstest.Eventually(w.tb, "nothing is left to send", func() bool {
		return w.queryInt(behind) == 0 && w.queryInt("select count(*) from webhook.waiting") == 0
	})
	for _, p := range append(w.projectors, w.senders...) {
		p.StopCleanly(syscall.SIGTERM)
	}
}

// check checks that every endpoint has got the events of its phone system and no other, and no more requests again than
// faults explain.
func (w *webhooks) check() {
	w.tb.Helper()
	fired := 0
	for _, ids := range w.artifacts.fired {
		fired += len(ids)
	}
	if n := w.queryInt("select count(*) from webhook.notice"); n != int64(fired) {
		w.tb.Errorf("notices = %d, want %d", n, fired)
	}
	if n := w.queryInt("select count(*) from webhook.finished where state <> 'delivered'"); n != 0 {
		w.tb.Errorf("deliveries that ended in another state than delivered = %d, want 0", n)
	}
	for _, e := range w.receiver.endpoints {
		e.check(w.tb, w.artifacts.fired[e.system])
	}
	const failed = "select count(*) from webhook.finished, jsonb_array_elements(attempts) a where a->>'error' is not null"
	w.tb.Logf("%d artifacts, %d requests, of which %d were aborted; %d attempts were recorded as failed",
		fired, w.receiver.requests.Load(), w.receiver.aborted.Load(), w.queryInt(failed))
}
