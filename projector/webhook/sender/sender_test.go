package sender_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
	"callboard/projector/webhook/sender"
	"callboard/schema/schematest"
)

// Events reach an endpoint once each, in order while nothing fails, and their deliveries and attempts are recorded.
func TestSender_Delivers(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	s := h.start(nil)
	h.notice(100)
	got := h.await("/a", 100)
	if ids := h.receiver.ids("/a"); !slices.Equal(ids, events(1, 100)) {
		t.Errorf("events = %v, want 1 to 100 in order", ids)
	}
	if !strings.HasPrefix(got[0].body, `{"type":"call.ended","timestamp":"`) || got[0].Data.CallSid != "CA1" || got[0].Data.PhoneSystemID != h.system {
		t.Errorf("body = %s, want the call's identifiers", got[0].body)
	}
	h.eventually("finished deliveries", "100", "select count(*) from webhook.finished where state = 'delivered' and endpoint_id = $1 and tries = 1", endpoint)
	h.Want("waiting deliveries", "0", "select count(*) from webhook.waiting")
	h.Want("attempts", "100", "select count(*) from webhook.finished, jsonb_array_elements(attempts) a where a->>'status' = '200' and a->>'error' is null")
	h.Want("success", "true", "select succeeded_at is not null and failed_at is null and failures = 0 from webhook.endpoint")
	eventstest.Eventually(t, "the count of deliveries", func() bool { return s.metric(t, "deliveries_total") == 100 })
}

// A failed delivery is attempted again as the same event with the same body, until it is accepted.
func TestSender_Retries(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.receiver.respond("/a", status(http.StatusInternalServerError))
	h.start(nil)
	h.notice(1)
	eventstest.Eventually(t, "three attempts", func() bool { return len(h.receiver.requests("/a")) >= 3 })
	h.receiver.respond("/a", nil)
	h.eventually("delivered", "1", "select count(*) from webhook.finished where state = 'delivered'")
	got := h.receiver.requests("/a")
	for i, r := range got {
		if r.ID != got[0].ID || r.body != got[0].body {
			t.Errorf("attempt %d = %s %s, want %s %s", i, r.ID, r.body, got[0].ID, got[0].body)
		}
		if i > 0 && r.at.Sub(got[i-1].at) < 45*time.Millisecond {
			t.Errorf("attempt %d came after %v, want 45 ms or more", i, r.at.Sub(got[i-1].at))
		}
	}
	list, _, err := h.registry.Deliveries(t.Context(), registry.Query{Endpoint: endpoint, Limit: 1})
	h.Must(err)
	attempts := list[0].Attempts
	if len(attempts) != len(got) || *attempts[0].Error != "status 500" || attempts[len(attempts)-1].Error != nil {
		t.Errorf("recorded attempts = %d, want %d: failures, then a success", len(attempts), len(got))
	}
	h.Want("answer", "no room", "select string_agg(distinct a->>'answer', '|') from webhook.delivery, jsonb_array_elements(attempts) a where a->>'error' is not null")
}

// A delivery has its newest attempts, however many there were.
func TestSender_BoundsAttempts(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.Exec(`insert into webhook.delivery (endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, at, attempts)
		select $1, $2, 1, 'evt_1', 'call.ended', $3, 'CA1', now(), jsonb_agg(jsonb_build_object('status', n)) from generate_series(1, 32) n`,
		endpoint, streamID(), h.system)
	h.start(nil)
	h.eventually("number, first and last", "32 2 200",
		"select concat_ws(' ', jsonb_array_length(attempts), attempts->0->'status', attempts->-1->'status') from webhook.finished")
}

// The attempt of a delivery that was skipped meanwhile is recorded, too.
func TestSender_RecordsAttemptsOfSkippedDeliveries(t *testing.T) {
	h := newHarness(t)
	arrived, release := h.receiver.hold("/a")
	defer release()
	endpoint := h.register("/a", 1)
	h.start(nil)
	h.notice(1)
	<-arrived
	h.Must(h.registry.Pause(t.Context(), endpoint))
	_, _, err := h.registry.Skip(t.Context(), endpoint)
	h.Must(err)
	release()
	h.eventually("state and status", "skipped 200", "select concat_ws(' ', state, attempts->0->'status') from webhook.finished")
}

// A delivery whose time is over is dead; others go on. One that always fails does not open the breaker while others
// succeed.
func TestSender_EndsRetriesAfterTheSchedule(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 4)
	var answered bool
	h.receiver.respond("/a", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(webhook.HeaderID) == "evt_1" {
			status(http.StatusBadRequest)(w, r)
			answered = true
		}
	})
	s := h.start(func(c *sender.Config) { c.Schedule.GiveUp = 300 * time.Millisecond })
	for range 10 {
		h.notice(5)
	}
	h.eventually("dead deliveries", "evt_1", "select string_agg(event_id, ' ') from webhook.finished where state = 'dead'")
	h.eventually("delivered", "49", "select count(*) from webhook.finished where state = 'delivered'")
	h.Want("state of the endpoint", "active", "select state from webhook.endpoint")
	if n := s.metric(t, "sender_endpoints"); n != 1 || !answered {
		t.Errorf("sender_endpoints = %v, refused = %v, want 1, true", n, answered)
	}
}

// An endpoint that answers 410 is disabled at once. What waits is sent after it is resumed.
func TestSender_DisablesAnEndpointThatAnswers410(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.receiver.respond("/a", status(http.StatusGone))
	h.start(nil)
	h.notice(3)
	h.eventually("state", "disabled gone", "select state || ' ' || reason from webhook.endpoint")
	h.Want("waiting", "3", "select count(*) from webhook.waiting")
	h.Want("audit", "sender disable", "select by || ' ' || command from webhook.audit order by id desc limit 1")
	h.receiver.respond("/a", nil)
	h.Must(h.registry.Resume(t.Context(), endpoint, nil))
	h.eventually("delivered", "3", "select count(*) from webhook.finished where state = 'delivered'")
}

// An endpoint without a success for the whole time of the schedule is disabled, and nothing that waits is lost.
func TestSender_DisablesAnEndpointWithoutSuccess(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 8)
	h.receiver.respond("/a", status(http.StatusServiceUnavailable))
	h.Exec("update webhook.endpoint set failing_since = now() - interval '2 hours', failures = 17")
	h.start(nil)
	h.notice(8)
	h.eventually("state", "disabled failing", "select state || ' ' || reason from webhook.endpoint")
	h.Want("waiting", "8", "select count(*) from webhook.waiting")
	h.receiver.respond("/a", nil)
	h.Must(h.registry.Resume(t.Context(), endpoint, nil))
	h.eventually("delivered", "8", "select count(*) from webhook.finished where state = 'delivered'")
	h.Want("failures", "0", "select failures from webhook.endpoint where failing_since is null")
}

// So is one to which nothing is sent any more: its deliveries are dead, and no other event comes.
func TestSender_DisablesAnEndpointWithoutDeliveries(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 8)
	h.Exec("update webhook.endpoint set failing_since = now() - interval '1 hour', failures = 20")
	h.start(nil)
	h.eventually("state", "disabled failing", "select state || ' ' || reason from webhook.endpoint")
	h.Want("audit", "sender disable", "select by || ' ' || command from webhook.audit order by id desc limit 1")
}

// An endpoint that hangs delays no other.
func TestSender_EndpointThatHangsDelaysNoOther(t *testing.T) {
	h := newHarness(t)
	release := make(chan struct{})
	h.register("/hangs", 64)
	h.receiver.respond("/hangs", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	h.register("/a", 8)
	h.start(func(c *sender.Config) { c.InFlight = 80 })
	h.notice(200)
	h.await("/a", 200)
	if n := len(h.receiver.requests("/hangs")); n == 0 || n > 64 {
		t.Errorf("requests to the endpoint that hangs = %d, want 1 to 64", n)
	}
	close(release)
	h.eventually("delivered", "400", "select count(*) from webhook.finished where state = 'delivered'")
}

// An operator's command that locks an endpoint for long delays no other.
func TestSender_LockedEndpointDelaysNoOther(t *testing.T) {
	h := newHarness(t)
	locked, other := h.register("/locked", 4), h.register("/a", 4)
	h.start(nil)
	command, err := h.Super.Begin(t.Context())
	h.Must(err)
	defer func() { _ = command.Rollback(context.Background()) }()
	_, err = command.Exec(t.Context(), "select from webhook.endpoint where id = $1 for no key update", locked)
	h.Must(err)
	h.notice(20)
	const delivered = "select count(*) from webhook.finished where state = 'delivered' and endpoint_id = $1"
	h.eventually("delivered to the other", "20", delivered, other)
	h.Want("recorded of the locked one", "0", delivered, locked)
	h.Must(command.Rollback(t.Context()))
	h.eventually("delivered after the command", "20", delivered, locked)
	h.Want("attempts", "40", countAttempts)
}

// A failover that loses commits gives the id of a delivery in flight to another event. That one is sent, too.
func TestSender_IDOfAnotherEvent(t *testing.T) {
	h := newHarness(t)
	arrived, release := h.receiver.hold("/a")
	defer release()
	h.register("/a", 1)
	h.start(nil)
	h.notice(1)
	<-arrived
	h.Exec("update webhook.delivery set event_id = 'evt_2', call_sid = 'CA2'")
	release()
	h.await("/a", 2)
	if got, want := h.receiver.ids("/a"), events(1, 2); !slices.Equal(got, want) {
		t.Errorf("received = %v, want %v", got, want)
	}
	h.eventually("delivered", "evt_2", "select string_agg(event_id, ' ') from webhook.finished where state = 'delivered'")
	h.Want("attempts", "1", countAttempts)
}

// A dead endpoint gets probes only. When it answers again, all that waits is delivered.
func TestSender_ProbesADeadEndpoint(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 8)
	h.receiver.respond("/a", status(http.StatusBadGateway))
	h.start(nil)
	h.notice(300)
	eventstest.Eventually(t, "five requests", func() bool { return len(h.receiver.requests("/a")) >= 5 })
	h.receiver.respond("/a", status(http.StatusBadGateway))
	h.eventually("probes", "true", "select max(tries) >= 2 from webhook.waiting")
	if n := len(h.receiver.requests("/a")); n > 40 {
		t.Errorf("requests to a dead endpoint = %d, want 40 at most", n)
	}
	h.receiver.respond("/a", nil)
	h.eventually("delivered", "300", "select count(*) from webhook.finished where state = 'delivered'")
}

// Two senders share the endpoints that have deliveries: one that has leased all leaves half of them to another. When
// one ends, the other sends all, and nothing is sent twice.
func TestSender_TwoShareTheEndpoints(t *testing.T) {
	h := newHarness(t)
	paths := []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"}
	for _, path := range paths {
		h.register(path, 4)
	}
	leases := func(s *running, want float64) {
		t.Helper()
		eventstest.Eventually(t, fmt.Sprintf("%v leases", want), func() bool { return s.metric(t, "leases") == want })
	}
	var release []func()
	for _, path := range paths {
		_, answer := h.receiver.hold(path)
		release = append(release, answer)
	}
	first := h.start(nil)
	h.notice(50)
	leases(first, 8)
	second := h.start(nil)
	for _, answer := range release {
		answer()
	}
	leases(first, 4)
	leases(second, 4)
	for _, path := range paths {
		h.await(path, 50)
	}
	h.notice(50)
	first.stop()
	for _, path := range paths {
		if h.await(path, 100); len(slices.Compact(slices.Sorted(slices.Values(h.receiver.ids(path))))) != 100 {
			t.Errorf("events at %s = %v, want 100 different ones", path, h.receiver.ids(path))
		}
	}
}

// While a secret is replaced, requests are signed with both.
func TestSender_SignsWithAllSecrets(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.start(nil)
	h.notice(1)
	if got := h.await("/a", 1); strings.Contains(got[0].signatures, " ") {
		t.Errorf("signatures = %d, want 1", len(strings.Fields(got[0].signatures)))
	}
	fresh, err := h.registry.Rotate(t.Context(), endpoint, time.Hour, h.vault)
	h.Must(err)
	h.receiver.trust("/a", fresh) // requests that the new secret did not sign are refused, and retried
	h.notice(1)
	if got := h.await("/a", 2); len(strings.Fields(got[1].signatures)) != 2 {
		t.Errorf("signatures = %d, want 2", len(strings.Fields(got[1].signatures)))
	}
	h.Exec("update webhook.endpoint set secrets = jsonb_set(secrets, '{1, expires_at}', to_jsonb(now()))")
	h.notice(1)
	if got := h.await("/a", 3); len(strings.Fields(got[2].signatures)) != 1 {
		t.Errorf("signatures after the overlap = %d, want 1", len(strings.Fields(got[2].signatures)))
	}
}

// A sender that has not the key of a secret sends nothing, and loses nothing.
func TestSender_WithoutAKey(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 1)
	other := h.start(func(c *sender.Config) { c.Vault = eventstest.NewVault(t, bytes.Repeat([]byte("x"), 32)) })
	h.notice(2)
	h.eventually("waiting", "2", "select count(*) from webhook.waiting")
	eventstest.Eventually(t, "the endpoint is known", func() bool { return other.metric(t, "sender_endpoints") == 1 })
	other.stop()
	if n := len(h.receiver.requests("/a")); n != 0 {
		t.Errorf("requests = %d, want 0", n)
	}
	h.start(nil)
	h.await("/a", 2)
}

// A pause makes deliveries wait; resume sends them, and resume --skip sends none of them.
func TestSender_DeliveriesWaitDuringAPause(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.start(nil)
	h.Must(h.registry.Pause(t.Context(), endpoint))
	h.notice(20)
	h.eventually("waiting", "20", "select count(*) from webhook.waiting")
	h.Must(h.registry.Resume(t.Context(), endpoint, nil))
	h.await("/a", 20)
	h.eventually("delivered", "20", "select count(*) from webhook.finished where state = 'delivered'")
	h.Must(h.registry.Pause(t.Context(), endpoint))
	h.notice(20)
	h.eventually("waiting", "20", "select count(*) from webhook.waiting")
	skipped, _, err := h.registry.Skip(t.Context(), endpoint)
	h.Must(err)
	h.Must(h.registry.Resume(t.Context(), endpoint, nil))
	h.notice(1)
	if h.await("/a", 21); skipped != 20 || h.receiver.ids("/a")[20] != "evt_41" {
		t.Errorf("skipped = %d, then %s, want 20, then evt_41", skipped, h.receiver.ids("/a")[20])
	}
}

// A sender that is stopped waits for the requests in flight and records their outcomes.
func TestSender_StopsAfterItsRequests(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 4)
	arrived, release := make(chan struct{}, 4), make(chan struct{})
	h.receiver.respond("/a", func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	s := h.start(nil)
	h.notice(4)
	for range 4 {
		<-arrived
	}
	go close(release)
	s.stop()
	h.Want("delivered", "4", "select count(*) from webhook.finished where state = 'delivered'")
}

// A sender that is stopped renews its leases until its requests have ended, so that no other sender repeats them.
func TestSender_KeepsLeases(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 1)
	arrived, release := h.receiver.hold("/a")
	t.Cleanup(release)
	first := h.start(nil)
	h.notice(1)
	<-arrived
	h.start(nil)
	stopped := first.stopping()
	until := h.Text("select leased_until from webhook.endpoint")
	h.eventually("the lease was renewed", "true", "select leased_until > $1::timestamptz from webhook.endpoint", until)
	release()
	<-stopped
	h.Want("attempts", "1", countAttempts)
	h.Want("delivered", "1", "select count(*) from webhook.finished where state = 'delivered'")
}

// A lease that nobody renews ends. What its session had in flight is sent again.
func TestSender_TakesOverWhatIsNotRenewed(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 1)
	h.Exec("update webhook.endpoint set leased_by = pg_backend_pid(), leased_until = now() + interval '1 hour'")
	h.Exec("update webhook.endpoint set leased_by = pid from (select min(pid) as pid from pg_stat_activity where datname = current_database()) other")
	h.start(nil)
	h.notice(1)
	h.eventually("waiting", "1", "select count(*) from webhook.waiting")
	h.Exec("update webhook.endpoint set leased_until = now()")
	h.await("/a", 1)
}

// Neither a restart of PostgreSQL nor one of NATS loses an event.
func TestSender_LosesNothingOverRestarts(t *testing.T) {
	t.Parallel()
	h := newHarnessOf(t, schematest.NewWithSettings(t, nil)) // a separate server
	h.register("/a", 8)
	h.start(nil)
	h.notice(50)
	h.await("/a", 50)
	h.nats.Restart()
	h.notice(50)
	h.Database.Cluster().Kill()
	h.Must(h.Database.Cluster().Restart(t.Context()))
	eventstest.Eventually(t, "all events", func() bool {
		return len(slices.Compact(slices.Sorted(slices.Values(h.receiver.ids("/a"))))) == 100
	})
	eventstest.Eventually(t, "all deliveries are recorded", func() bool {
		var n int
		return h.Super.QueryRow(t.Context(), "select count(*) from webhook.finished where state = 'delivered'").Scan(&n) == nil && n == 100
	})
}

// A sender whose database answers nothing is not ready, although its connections stay open.
func TestSender_NotReadyWithoutAnswers(t *testing.T) {
	h := newHarness(t)
	address, err := url.Parse(h.Database.RoleURL("callboard_webhooks"))
	h.Must(err)
	proxy := eventstest.NewProxy(t, address.Host)
	address.Host = proxy.Addr()
	s := h.start(func(c *sender.Config) { c.Database = schematest.OpenPool(t, address.String()) })
	resume := proxy.Pause()
	defer resume()
	eventstest.Eventually(t, "the sender is not ready", func() bool { return !s.Ready() })
	resume()
	eventstest.Eventually(t, "the sender is ready again", s.Ready)
}

// A test that an operator asks for is sent by a sender, whatever the state of the endpoint.
func TestSender_SendsTests(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.Must(h.registry.Pause(t.Context(), endpoint))
	h.start(nil)
	outcome, err := h.registry.Try(t.Context(), endpoint, webhook.AnalysisCompleted)
	h.Must(err)
	if got := h.await("/a", 1)[0]; !outcome.OK() || got.Type != webhook.AnalysisCompleted || got.Data.CallSid == "" {
		t.Errorf("outcome = %+v, event = %+v, want a success and identifiers", outcome, got.Event)
	}
	h.receiver.respond("/a", status(http.StatusGone))
	outcome, err = h.registry.Try(t.Context(), endpoint, webhook.Test)
	h.Must(err)
	if outcome.OK() || *outcome.Status != http.StatusGone || *outcome.Error != "status 410" || *outcome.Answer != "no room" {
		t.Errorf("outcome = %+v, want a failure with the status 410", outcome)
	}
	h.Want("state", "paused", "select state from webhook.endpoint")
	h.candidate()
}

// candidate tries an endpoint that is not registered.
func (h *harness) candidate() {
	h.Helper()
	c, err := registry.NewCandidate("CRM", h.receiver.server.URL+"/new", registry.Target{Kind: registry.System, ID: h.system}, webhook.Kinds(), 1, h.vault)
	h.Must(err)
	h.receiver.trust("/new", c.Secret())
	outcome, err := h.registry.TryCandidate(h.Context(), c)
	h.Must(err)
	if got := h.await("/new", 1)[0]; !outcome.OK() || got.Type != webhook.Test {
		h.Errorf("outcome = %+v, event = %+v, want a success of callboard.test", outcome, got.Event)
	}
}

// What has waited for longer than history is stored is skipped, and removed endpoints are forgotten after it.
func TestSender_SkipsExpiredDeliveries(t *testing.T) {
	h := newHarness(t)
	h.register("/a", 1)
	gone := h.register("/b", 1)
	h.Must(h.registry.Remove(t.Context(), gone))
	h.Exec("update webhook.endpoint set stopped_at = now() - interval '32 days' where id = $1", gone)
	h.Exec("update webhook.endpoint set state = 'paused' where id <> $1", gone)
	h.Exec(`insert into webhook.delivery (endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, at, created_at)
		select id, gen_random_uuid(), 1, 'evt_1', 'call.ended', $1, 'CA1', now(), now() - interval '32 days' from webhook.endpoint where id <> $2`, h.system, gone)
	s := h.start(nil)
	h.eventually("finished", "skipped", "select string_agg(state, ' ') from webhook.finished")
	h.eventually("endpoints", "1", "select count(*) from webhook.endpoint")
	h.Want("audit of the removed endpoint", "0", "select count(*) from webhook.audit where endpoint_id = $1", gone)
	h.Want("days", "3", "select count(*) from webhook.day where parent = 'webhook.notice'::regclass")
	if n := s.metric(t, "skipped_total"); n != 1 {
		t.Errorf("skipped_total = %v, want 1", n)
	}
}

// What was redelivered waits since then, and does not keep others from being skipped.
func TestSender_SkipsExpiredRedeliveries(t *testing.T) {
	h := newHarness(t)
	endpoint := h.register("/a", 1)
	h.Must(h.registry.Pause(t.Context(), endpoint))
	const columns = "endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, at, cause, created_at"
	h.Exec(`insert into webhook.delivery (id, tries, state, finished_at, `+columns+`)
		select n, 1, 'dead', now(), $1, gen_random_uuid(), n, 'evt_' || n, 'call.ended', $2, 'CA1', now(), 'fired', now() - interval '40 days'
		from generate_series(1, 5001) n`, endpoint, h.system) // more than a slice
	_, err := h.registry.RedeliverState(t.Context(), endpoint, registry.Dead, time.Time{})
	h.Must(err)
	h.Exec("update webhook.delivery set due_at = now() - interval '32 days' where id = 5001")
	h.Exec(`insert into webhook.delivery (id, `+columns+`)
		values (5002, $1, gen_random_uuid(), 1, 'evt_5002', 'call.ended', $2, 'CA1', now(), 'fired', now() - interval '32 days')`, endpoint, h.system)
	h.start(nil)
	h.eventually("skipped", "5001 5002", "select string_agg(id::text, ' ' order by id) from webhook.finished where state = 'skipped'")
	h.Want("waiting", "5000", "select count(*) from webhook.waiting")
}

// A host can disappear without closing its connections. No statement waits for it until the operating system gives up.
func TestSender_LimitsEveryStatement(t *testing.T) {
	h := newHarness(t)
	h.start(func(c *sender.Config) { c.Database = schematest.OpenLimitedPool(t, c.Database) })
	h.register("/a", 1)
	h.notice(3)
	h.eventually("finished deliveries", "3", "select count(*)::text from webhook.finished where state = 'delivered'")
}
