package runreadapi_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/internal/runreadapi"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// Two readers share the budgets of a key: of 500 concurrent requests 120 are allowed, and as many of each report
// operation, whose budgets are their own. Requests for a phone system that is not covered use budgets too.
func TestRun_ReadersShareBudgets(t *testing.T) {
	database, nats := schematest.New(t), eventstest.NewServer(t)
	if _, err := eventstest.JetStream(t, nats.URL()).CreateStream(t.Context(), events.AuditStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	var readers []string
	for range 2 {
		c := config(t, nats, database.RoleURL("callboard_reader"))
		c.LimiterTimeout, c.RequestTimeout = time.Minute, time.Minute // a timeout would change the number of allowed requests
		eventstest.Run(t, func(ctx context.Context) error { return runreadapi.Run(ctx, c) })
		readers = append(readers, "http://"+c.Public.Addr().String())
	}

	const connections = 64 // a reader closes a connection that has no request for 5 s
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxConnsPerHost: connections / len(readers), MaxIdleConnsPerHost: connections / len(readers),
	}}
	t.Cleanup(client.CloseIdleConnections)
	expect := func(path, key string, requests, answered int) {
		t.Helper()
		var mu sync.Mutex
		statuses := map[int]int{}
		var all sync.WaitGroup
		for i := range requests {
			all.Go(func() {
				status := get(client, readers[i%len(readers)]+"/v1/customer/phone-systems"+path, key)
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			})
		}
		all.Wait()
		if statuses[answered] != 120 || statuses[http.StatusTooManyRequests] != requests-120 {
			t.Errorf("%s: responses by status = %v, want 120 times %d and %d times 429", path, statuses, answered, requests-120)
		}
	}

	expect("", issueKey(t, database, access.TierStandard), 500, http.StatusOK)
	premium, reports := issueKey(t, database, access.TierPremium), "/"+uuid.NewString()+"/call-log-reports"
	expect(reports+"?dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-02T00:00:00Z", premium, 150, http.StatusNotFound)
	expect(reports+"/dimensions", premium, 150, http.StatusNotFound)
}

func issueKey(t *testing.T, database *schematest.Database, tier access.Tier) string {
	t.Helper()
	pepper, err := pepper()
	if err != nil {
		t.Fatal(err)
	}
	issued, err := access.NewRegistry(database.Pool(t), pepper).Issue(t.Context(), access.KeySpec{
		Name: "shared", Grant: access.Grant{Kind: access.GrantSystem, ID: uuid.New()}, Scopes: []access.Scope{access.ScopeCalls}, Tier: tier,
	})
	if err != nil {
		t.Fatal(err)
	}
	return issued.Key.Reveal()
}

// get returns the status of a response, 0 without one.
func get(client *http.Client, url, key string) int {
	request, err := http.NewRequest(http.MethodGet, url, nil) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0
	}
	request.Header.Set("X-API-Key", key)
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
