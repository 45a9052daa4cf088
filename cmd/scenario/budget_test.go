package scenario_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"callboard/cmd/connection"
	"callboard/cmd/program/readapi"
	"callboard/cmd/programtest"
	"callboard/cmd/setting"
	eventsaudit "callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// budgetReader is a reader as operators run it, with the contract's budgets. It has the fixture's database and a separate NATS server.
type budgetReader struct {
	*fixture
	nats *eventstest.Server
	base string // URL
}

// budgetReader starts a reader that waits for the limiter's decision, however busy the machine is.
func (f *fixture) budgetReader() *budgetReader {
	f.Helper()
	return f.newBudgetReader(time.Minute)
}

func (f *fixture) newBudgetReader(limiterTimeout time.Duration) *budgetReader {
	f.Helper()
	b := &budgetReader{fixture: f, nats: eventstest.NewServer(f.TB)}
	js := eventstest.JetStream(f.TB, b.nats.URL())
	if _, err := js.CreateStream(f.Context(), eventsaudit.StreamConfig(1)); err != nil {
		f.Fatal(err)
	}
	nats := programtest.Setting(f, setting.NewNATSURL, b.nats.URL())
	primary := programtest.Setting(f, setting.NewPostgresURL, f.Database.RoleURL("callboard_reader"))
	public, admin := programtest.Listen(f), programtest.Listen(f)
	b.base = "http://" + public.Addr().String()
	f.Run(func(ctx context.Context) error {
		return readapi.Run(ctx, readapi.Config{
			NATS: connection.NATSConfig{URL: nats, Log: zerolog.Nop()}, Premium: 600,
			LimiterTimeout: limiterTimeout, RequestTimeout: time.Minute, DimensionsTimeout: time.Minute,
			Primary: primary, BaseURL: b.base + "/v1", Peppers: f.peppers, CursorKey: setting.NewSecret(string(newSecret())),
			Audio: f.audioLocation(), Public: public, Admin: admin, Log: zerolog.Nop(),
		})
	})
	return b
}

// request requests a path below /customer/phone-systems.
func (b *budgetReader) request(key access.Key, path string) answer {
	b.Helper()
	return b.send(http.MethodGet, b.base+"/v1/customer/phone-systems"+path, keyHeader(key))
}

// requestMany requests paths in turn, with several clients at once, and returns the number of answers by outcome.
func (b *budgetReader) requestMany(key access.Key, requests int, paths ...string) map[string]int {
	b.Helper()
	const clients = 4
	next := make(chan string)
	var mu sync.Mutex
	outcomes := map[string]int{}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for path := range next {
				outcome := b.request(key, path).outcome()
				mu.Lock()
				outcomes[outcome]++
				mu.Unlock()
			}
		})
	}
	for i := range requests {
		next <- paths[i%len(paths)]
	}
	close(next)
	all.Wait()
	return outcomes
}

func (b *budgetReader) standardKey(grant access.Grant) access.Key {
	return b.issueKey(access.KeySpec{Grant: grant})
}

const rateLimited = "429 RATE_LIMITED"

// reportBudget exhausts the budget of each report operation of a premium key, whose tier allows more.
func reportBudget(f *fixture) {
	b := f.budgetReader()
	key := b.issueKey(access.KeySpec{Grant: f.harbourGrant(), Tier: access.TierPremium})
	for _, path := range []string{f.harbourPath("/call-log-reports?" + wholeWindow), f.harbourPath("/call-log-reports/dimensions")} {
		b.equalJSON(path, b.requestMany(key, 130, path), map[string]int{"200": 120, rateLimited: 10})
	}
	b.equalJSON("other operations", b.requestMany(key, 130, f.harbourPath("/phones")), map[string]int{"200": 130})
}

// meteredSeparately sends 120 requests of a standard key, half of the budget of each report operation.
func meteredSeparately(f *fixture) {
	b := f.budgetReader()
	key := b.standardKey(f.harbourGrant())
	b.equalJSON("reports", b.requestMany(key, 60, f.harbourPath("/call-log-reports?"+wholeWindow)), map[string]int{"200": 60})
	b.equalJSON("dimensions", b.requestMany(key, 59, f.harbourPath("/call-log-reports/dimensions")), map[string]int{"200": 59})
	b.checkOutcome("the last request", b.request(key, f.harbourPath("/phones")), "200")
	for _, path := range []string{f.harbourPath("/call-log-reports?" + wholeWindow), f.harbourPath("/call-log-reports/dimensions"), f.harbourPath("/phones"), ""} {
		b.checkOutcome(path, b.request(key, path), rateLimited)
	}
}

// standardBudget exhausts a standard key's budget with all operations.
func standardBudget(f *fixture) {
	b := f.budgetReader()
	key := b.standardKey(f.harbourGrant())
	var paths []string
	for _, o := range operations() {
		paths = append(paths, f.example(o))
	}
	b.equalJSON("all operations", b.requestMany(key, 5*len(paths), paths...), map[string]int{"200": 120})
	for _, path := range paths {
		b.checkOutcome(path, b.request(key, path), rateLimited)
	}
	b.checkOutcome("another key", b.request(b.standardKey(f.harbourGrant()), paths[0]), "200")
}

// sharedBudget exhausts a key's budget with three phone systems, of which it covers two.
func sharedBudget(f *fixture) {
	b := f.budgetReader()
	key := b.standardKey(access.Grant{Kind: access.GrantGroup, ID: f.group})
	harbour, annex, branch := "/"+f.harbour.String()+"/phones", "/"+f.annex.String()+"/phones", "/"+f.branch.String()+"/phones"
	b.equalJSON("three systems", b.requestMany(key, 120, harbour, annex, branch), map[string]int{"200": 80, "404 NOT_FOUND": 40})
	for _, path := range []string{harbour, annex, branch, ""} {
		b.checkOutcome(path, b.request(key, path), rateLimited)
	}
	b.checkLineageBudget()
}

// checkLineageBudget exhausts one budget with a key and the key that it was rolled into.
func (b *budgetReader) checkLineageBudget() {
	old := b.issue(access.KeySpec{Grant: b.harbourGrant()})
	rolled, err := b.registry.Roll(b.Context(), old.ID, access.Roll{Overlap: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	b.equalJSON("the old key", b.requestMany(old.Key, 70, b.harbourPath("/phones")), map[string]int{"200": 70})
	b.equalJSON("the new key", b.requestMany(rolled.Key, 55, b.harbourPath("/phones")), map[string]int{"200": 50, rateLimited: 5})
	b.checkOutcome("the old key again", b.request(old.Key, b.harbourPath("/phones")), rateLimited)
}

// overBudget checks the headers of requests within the budget, and the problem beyond it.
func overBudget(f *fixture) {
	b := f.budgetReader()
	key := b.standardKey(f.harbourGrant())
	for i := range 120 {
		a := b.request(key, f.harbourPath("/phones"))
		b.equalJSON("RateLimit-Policy", a.header.Get("RateLimit-Policy"), `"tier";q=120;w=60`)
		var left, until int
		if n, err := fmt.Sscanf(a.header.Get("RateLimit"), `"tier";r=%d;t=%d`, &left, &until); n != 2 || err != nil || until < 1 || until > 60 {
			b.Errorf("RateLimit = %s, want a quota and 1 to 60 seconds", a.header.Get("RateLimit"))
		}
		b.equalJSON("the quota", left, 119-i)
	}
	for _, path := range []string{f.harbourPath("/phones"), f.harbourPath("/call-log-reports?" + wholeWindow)} {
		a := b.request(key, path)
		b.checkOutcome(path, a, rateLimited)
		b.checkRetryAfter(path, a)
		b.equalJSON("retryable", a.body["retryable"], true)
	}
	// A request without a key shows no budget, and a request beyond the scopes doesn't need one.
	b.equalJSON("RateLimit-Policy without a key", b.send(http.MethodGet, b.base+"/v1/customer/phone-systems", http.Header{}).header.Get("RateLimit-Policy"), "")
	phones := b.issueKey(access.KeySpec{Grant: f.harbourGrant(), Scopes: []access.Scope{access.ScopePhones}})
	b.equalJSON("a budget", b.requestMany(phones, 120, f.harbourPath("/phones")), map[string]int{"200": 120})
	b.checkOutcome("a request beyond the scopes", b.request(phones, f.harbourPath("/voicemails")), "403 INSUFFICIENT_SCOPE")
}

// unreachableBudget stops NATS: report operations are refused, others are answered, until NATS runs again.
func unreachableBudget(f *fixture) {
	b := f.newBudgetReader(0) // with the default timeout
	key := b.standardKey(f.harbourGrant())
	reports := []string{f.harbourPath("/call-log-reports?" + wholeWindow), f.harbourPath("/call-log-reports/dimensions")}
	for _, path := range reports {
		eventstest.Eventually(b.TB, "200 "+path, func() bool { return b.request(key, path).status == http.StatusOK })
	}
	b.nats.Stop()
	for _, path := range reports {
		a := b.request(key, path)
		b.checkOutcome(path, a, rateLimited)
		b.checkRetryAfter(path, a)
	}
	b.equalJSON("other operations", b.requestMany(key, 125, f.harbourPath("/phones")), map[string]int{"200": 120, rateLimited: 5})
	b.nats.Start()
	for _, path := range reports {
		eventstest.Eventually(b.TB, "200 "+path, func() bool { return b.request(key, path).status == http.StatusOK })
	}
}
