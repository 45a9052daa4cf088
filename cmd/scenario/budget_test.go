package scenario_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	reader "callboard/cmd/program/readapi"
	"callboard/cmd/setting"
	trail "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// meter is a reader as operators run it, with the contract's budgets, over the world's tables and a NATS of its own.
type meter struct {
	*world
	nats *eventstest.Server
	base string
}

// patient is a meter that waits for NATS' word, however late it comes on a machine busy with other tests.
func (w *world) patient() *meter {
	w.t.Helper()
	return w.meter(time.Minute)
}

func (w *world) meter(patience time.Duration) *meter {
	w.t.Helper()
	m := &meter{world: w, nats: eventstest.NewServer(w.t)}
	js := eventstest.JetStream(w.t, m.nats.URL())
	if _, err := js.CreateStream(w.t.Context(), trail.StreamConfig(1)); err != nil {
		w.t.Fatal(err)
	}
	m.base = w.reader(m.nats.URL(), patience)
	return m
}

// reader runs one more reader and returns its base URL, without /v1.
func (w *world) reader(natsURL string, patience time.Duration) string {
	w.t.Helper()
	broker, err := setting.NewNATSURL(natsURL)
	if err != nil {
		w.t.Fatal(err)
	}
	primary, err := setting.NewPostgresURL(w.database.RoleURL("callboard_reader"))
	if err != nil {
		w.t.Fatal(err)
	}
	public, admin := listen(w.t), listen(w.t)
	base := "http://" + public.Addr().String()
	w.hold(func(ctx context.Context) error {
		return reader.Run(ctx, reader.Config{
			NATS: connection.NATSConfig{URL: broker, Log: zerolog.Nop()}, Premium: 600, LimiterTimeout: patience, RequestTimeout: time.Minute,
			Primary: primary, BaseURL: base + "/v1",
			Peppers: w.peppers, CursorKey: setting.NewSecret(string(newSecret())), Audio: w.audio(), Public: public, Admin: admin, Log: zerolog.Nop(),
		})
	})
	return base
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := process.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// ask reads a path below /customer/phone-systems.
func (m *meter) ask(key access.Key, path string) answer {
	m.t.Helper()
	return m.send(http.MethodGet, m.base+"/v1/customer/phone-systems"+path, keyed(key))
}

// rush reads paths, one after the other, in a number of clients at once, and returns how many answers had which verdict.
func (m *meter) rush(key access.Key, requests int, paths ...string) map[string]int {
	m.t.Helper()
	const clients = 4
	next := make(chan string)
	var mu sync.Mutex
	verdicts := map[string]int{}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for path := range next {
				verdict := m.ask(key, path).verdict()
				mu.Lock()
				verdicts[verdict]++
				mu.Unlock()
			}
		})
	}
	for i := range requests {
		next <- paths[i%len(paths)]
	}
	close(next)
	all.Wait()
	return verdicts
}

func (m *meter) standard(grant access.Grant) access.Key {
	return m.stage.key(access.Request{Grant: grant})
}

func (m *meter) premium(grant access.Grant) access.Key {
	return m.stage.key(access.Request{Grant: grant, Tier: access.TierPremium})
}

func (w *world) harbourAlone() access.Grant {
	return access.Grant{Kind: access.GrantSystem, ID: w.harbour}
}

const limited = "429 RATE_LIMITED"

// reportBudget uses up the budget of one report operation of a key whose tier allows more, then the other's.
func reportBudget(w *world) {
	m := w.patient()
	key := m.premium(w.harbourAlone())
	for _, path := range []string{w.home("/call-log-reports?" + march), w.home("/call-log-reports/dimensions")} {
		m.is(path, m.rush(key, 130, path), map[string]int{"200": 120, limited: 10})
	}
	m.is("what else there is", m.rush(key, 130, w.home("/phones")), map[string]int{"200": 130})
}

// meteredSeparately takes 60 of each report operation, which together are what the tier allows.
func meteredSeparately(w *world) {
	m := w.patient()
	key := m.standard(w.harbourAlone())
	m.is("reports", m.rush(key, 60, w.home("/call-log-reports?"+march)), map[string]int{"200": 60})
	m.is("dimensions", m.rush(key, 59, w.home("/call-log-reports/dimensions")), map[string]int{"200": 59})
	m.judge("the last", m.ask(key, w.home("/phones")), "200")
	for _, path := range []string{w.home("/call-log-reports?" + march), w.home("/call-log-reports/dimensions"), w.home("/phones"), ""} {
		m.judge(path, m.ask(key, path), limited)
	}
}

// standardBudget spends a standard key's budget over all operations.
func standardBudget(w *world) {
	m := w.patient()
	key := m.standard(w.harbourAlone())
	var paths []string
	for _, o := range operations() {
		paths = append(paths, w.example(o))
	}
	m.is("over all operations", m.rush(key, 5*len(paths), paths...), map[string]int{"200": 120})
	for _, path := range paths {
		m.judge(path, m.ask(key, path), limited)
	}
	m.judge("another key", m.ask(m.standard(w.harbourAlone()), paths[0]), "200")
}

// sharedBudget spends one key's budget on two phone systems, one of which the key does not even cover.
func sharedBudget(w *world) {
	m := w.patient()
	key := m.standard(access.Grant{Kind: access.GrantGroup, ID: w.group})
	harbour, annex, branch := "/"+w.harbour.String()+"/phones", "/"+w.annex.String()+"/phones", "/"+w.branch.String()+"/phones"
	m.is("three systems", m.rush(key, 120, harbour, annex, branch), map[string]int{"200": 80, "404 NOT_FOUND": 40})
	for _, path := range []string{harbour, annex, branch, ""} {
		m.judge(path, m.ask(key, path), limited)
	}
	m.lineageBudget()
}

// lineageBudget spends one budget with a key and the key that it was rolled into.
func (m *meter) lineageBudget() {
	old := m.issue(time.Time{})
	rolled, err := m.registry.Roll(m.t.Context(), old.ID, access.Roll{Overlap: time.Hour})
	if err != nil {
		m.t.Fatal(err)
	}
	m.is("the old key", m.rush(old.Key, 70, m.home("/phones")), map[string]int{"200": 70})
	m.is("the new key", m.rush(rolled.Key, 55, m.home("/phones")), map[string]int{"200": 50, limited: 5})
	m.judge("the old key again", m.ask(old.Key, m.home("/phones")), limited)
}

// overBudget holds the refusal itself against the contract, and the headers before it.
func overBudget(w *world) {
	m := w.patient()
	key := m.standard(w.harbourAlone())
	for i := range 120 {
		a := m.ask(key, w.home("/phones"))
		m.is("policy", a.header.Get("RateLimit-Policy"), `"tier";q=120;w=60`)
		var left, until int
		if n, err := fmt.Sscanf(a.header.Get("RateLimit"), `"tier";r=%d;t=%d`, &left, &until); n != 2 || err != nil || until < 1 || until > 60 {
			m.t.Errorf("RateLimit: %s", a.header.Get("RateLimit"))
		}
		m.is("left", left, 119-i)
	}
	for _, path := range []string{w.home("/phones"), w.home("/call-log-reports?" + march)} {
		a := m.ask(key, path)
		m.judge(path, a, limited)
		seconds, _ := a.body["retry_after"].(float64)
		if seconds < 1 || seconds > 60 || seconds != float64(int(seconds)) || a.header.Get("Retry-After") != fmt.Sprint(seconds) {
			m.t.Errorf("retry_after %v, Retry-After %q", seconds, a.header.Get("Retry-After"))
		}
		m.is("retryable", a.body["retryable"], true)
	}
	// Who is not let in is not told of budgets, and neither is who asks for what its scopes forbid, budget or not.
	m.is("no key", m.send(http.MethodGet, m.base+"/v1/customer/phone-systems", http.Header{}).header.Get("RateLimit-Policy"), "")
	phones := m.stage.key(access.Request{Grant: w.harbourAlone(), Scopes: []access.Scope{access.ScopePhones}})
	m.is("a budget spent", m.rush(phones, 120, w.home("/phones")), map[string]int{"200": 120})
	m.judge("beyond the scopes", m.ask(phones, w.home("/voicemails")), "403 INSUFFICIENT_SCOPE")
}

// unreachableBudget takes NATS away from a reader with the patience that readers have: reports are refused, all else is answered,
// and both are as ever once NATS is back.
func unreachableBudget(w *world) {
	m := w.meter(0)
	key := m.standard(w.harbourAlone())
	reports := []string{w.home("/call-log-reports?" + march), w.home("/call-log-reports/dimensions")}
	for _, path := range reports {
		m.eventually(path, func() string { return m.ask(key, path).verdict() }, "200")
	}
	m.nats.Stop()
	for _, path := range reports {
		a := m.ask(key, path)
		m.judge(path, a, limited)
		if seconds, _ := a.body["retry_after"].(float64); seconds < 1 || a.header.Get("Retry-After") == "" {
			m.t.Errorf("%s: retry_after %v", path, seconds)
		}
	}
	m.is("all else", m.rush(key, 125, w.home("/phones")), map[string]int{"200": 120, limited: 5})
	m.nats.Start()
	for _, path := range reports {
		m.eventually(path, func() string { return m.ask(key, path).verdict() }, "200")
	}
}

// eventually asks until the answer is the one wanted, for as long as a restarted NATS may be missed.
func (s *stage) eventually(what string, ask func() string, want string) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for got := ask(); got != want; got = ask() {
		select {
		case <-deadline:
			s.t.Fatalf("%s: still %s, want %s", what, got, want)
		case <-tick.C:
		}
	}
}
