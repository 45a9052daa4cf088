package command_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
)

// clients send requests concurrently until they are stopped.
type clients struct {
	stop    chan struct{}
	running sync.WaitGroup

	mu       sync.Mutex
	answered []string // ids of the requests with a response
	failed   int      // requests without one
}

func startClients(base, key, name string) *clients {
	c := &clients{stop: make(chan struct{})}
	for i := range 4 {
		c.running.Go(func() { c.send(base, key, fmt.Sprintf("%s-%d", name, i)) })
	}
	return c
}

func (c *clients) send(base, key, name string) {
	client := newClient()
	defer client.CloseIdleConnections()
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		default:
		}
		id := fmt.Sprintf("%s-%d", name, n)
		// A 503 can be sent before the key is known, so it has no entry in the audit.
		status := discover(client, base, key, id)
		c.mu.Lock()
		if status != 0 && status != http.StatusServiceUnavailable {
			c.answered = append(c.answered, id)
		} else {
			c.failed++
		}
		c.mu.Unlock()
	}
}

func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answered)
}

// waitForMore waits for n more responses.
func (c *clients) waitForMore(tb testing.TB, n int) {
	tb.Helper()
	want := c.count() + n
	eventstest.Eventually(tb, fmt.Sprintf("%d responses", want), func() bool { return c.count() >= want })
}

// end stops the clients and returns the ids of the requests with a response.
func (c *clients) end() []string {
	close(c.stop)
	c.running.Wait()
	return c.answered
}

func newClient() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
}

// discover requests the list of phone systems and returns the status, 0 without a response.
func discover(client *http.Client, base, key, requestID string) int {
	request, err := http.NewRequest(http.MethodGet, base+"/customer/phone-systems", nil) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0
	}
	request.Header.Set("X-API-Key", key)
	request.Header.Set("X-Request-Id", requestID)
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// issueAnyKey issues a key of a phone system that does not exist. Its list of phone systems is empty. The readers
// of startAuditedReader allow it more requests than a test sends.
func (f *fleet) issueAnyKey() string {
	f.Helper()
	return issueKey(f, f.operator(), uuid.NewString(), "--name", "any", "--scopes", "calls:read", "--tier", "premium").Key
}

func (f *fleet) startAuditedReader(settings ...map[string]string) reader {
	f.Helper()
	return f.startReader(append(settings, map[string]string{"CALLBOARD_PREMIUM_PER_MINUTE": "120000"})...)
}

// audited returns how many entries each request id has in the audit.
func (f *fleet) audited() map[string]int {
	f.Helper()
	rows, _ := f.pool.Query(f.Context(), "select request_id from access.audit")
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		f.Fatal(err)
	}
	entries := map[string]int{}
	for _, id := range ids {
		entries[id]++
	}
	return entries
}

// waitUntilAudited waits until the audit has exactly one entry of each request.
func (f *fleet) waitUntilAudited(ids []string) {
	f.Helper()
	var wrong []string
	f.Cleanup(func() {
		if f.Failed() && len(wrong) > 0 {
			f.Logf("requests without exactly one entry: %d of %d: %.200s", len(wrong), len(ids), strings.Join(wrong, ", "))
		}
	})
	eventstest.Eventually(f, "one audit entry per request", func() bool {
		entries := f.audited()
		wrong = nil
		for _, id := range ids {
			if entries[id] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s: %d", id, entries[id]))
			}
		}
		return len(wrong) == 0
	})
}

// metric returns the value of a metric without labels.
func (r reader) metric(name string) (value int) {
	r.Helper()
	_, body := get(r, r.admin+"/metrics", "")
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			var v float64
			if _, err := fmt.Sscan(text, &v); err != nil {
				r.Fatal(err)
			}
			return int(v)
		}
	}
	r.Fatalf("no metric %s", name)
	return 0
}

// While projectors are killed and NATS restarts, the audit gets exactly one entry of every answered request.
func TestAudit_ProjectorsKilledAndNATSRestarted(t *testing.T) {
	f := newFleet(t)
	key := f.issueAnyKey()
	r, p := f.startAuditedReader(), f.startProjector()
	c := startClients(r.base, key, "a")
	for i := range 6 {
		c.waitForMore(t, 60)
		if i%2 == 0 {
			p.Stop(syscall.SIGKILL)
			c.waitForMore(t, 60)
			p = f.startProjector()
		} else {
			f.nats.Stop()
			c.waitForMore(t, 60)
			f.nats.Start()
		}
	}
	ids := c.end()
	f.waitUntilAudited(ids)
	t.Logf("%d requests have one entry each", len(ids))
	r.StopCleanly(syscall.SIGTERM)
}

// A killed reader loses only entries that NATS has not acknowledged. A reader that is asked to stop loses none, and
// answers every request of clients that stop when it is not ready.
func TestAudit_ReaderKilled(t *testing.T) {
	f := newFleet(t)
	key := f.issueAnyKey()
	f.startProjector()
	r := f.startAuditedReader()
	c := startClients(r.base, key, "killed")
	c.waitForMore(t, 300)
	eventstest.Eventually(t, "NATS acknowledges entries", func() bool { return r.metric("callboard_readapi_audit_acknowledged_total") > 0 })
	acknowledged := r.metric("callboard_readapi_audit_acknowledged_total")
	r.Stop(syscall.SIGKILL)
	killed := c.end()
	eventstest.Eventually(t, "the acknowledged entries are stored", func() bool { return len(f.audited()) >= acknowledged })

	second := f.startAuditedReader(map[string]string{"CALLBOARD_DRAIN": "20s"})
	c = startClients(second.base, key, "stopped")
	c.waitForMore(t, 300)
	second.Signal(syscall.SIGTERM)
	eventstest.Eventually(t, "the reader is not ready", func() bool {
		status, body := get(t, second.admin+"/readyz", "")
		return status == http.StatusServiceUnavailable && strings.Contains(string(body), "stopping")
	})
	ids := c.end()
	if code := second.Wait(3 * time.Minute); code != 0 || c.failed > 0 {
		t.Errorf("exit code = %d, failed requests = %d of %d, want 0 and 0", code, c.failed, len(ids))
	}
	f.waitUntilAudited(ids)
	entries := f.audited()
	stored := 0
	for _, id := range killed {
		stored += entries[id]
	}
	// Each of the four clients can have one request whose entry was acknowledged before it had a response.
	if stored < acknowledged-4 {
		t.Errorf("stored entries of the killed reader = %d, want %d or more of %d", stored, acknowledged-4, len(killed))
	}
}
