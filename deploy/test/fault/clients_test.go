package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// client requests readers over HTTP.
type client struct {
	http *http.Client
}

func newClient(tb testing.TB) *client {
	tb.Helper()
	c := &client{&http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	tb.Cleanup(c.http.CloseIdleConnections)
	return c
}

// response has the whole body.
type response struct {
	status int
	header http.Header
	body   []byte
}

// get requests a URL.
func (c *client) get(ctx context.Context, url string, key access.Key) (r response, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return r, err
	}
	request.Header.Set("X-API-Key", key.Reveal())
	got, err := c.http.Do(request)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, got.Body.Close()) }()
	r.status, r.header = got.StatusCode, got.Header
	r.body, err = io.ReadAll(got.Body)
	return r, err
}

// clients read while faults are injected, and record violations of what the API promises.
type clients struct {
	harness *harness
	client  *client
	running sync.WaitGroup
	strict  bool // every refusal is a violation
	reports []*reportClient

	lastChange time.Time     // by the stream's clock; set before finished is closed
	finished   chan struct{} // closed when nothing changes any more

	mu         sync.Mutex
	statuses   map[int]int // the number of responses; 0: a killed reader's
	violations int
}

// newClients starts a report client for each phone system. They run until [clients.finish], or until the test ends.
func (h *harness) newClients(strict bool, start func(ctx context.Context, c *clients)) *clients {
	h.tb.Helper()
	ctx, cancel := context.WithCancel(h.tb.Context())
	c := &clients{harness: h, client: newClient(h.tb), strict: strict, finished: make(chan struct{}), statuses: map[int]int{}}
	for _, system := range h.load.systems() {
		r := c.newReportClient(system)
		c.reports = append(c.reports, r)
		c.running.Go(func() { r.run(ctx) })
	}
	start(ctx, c)
	h.tb.Cleanup(func() {
		cancel()
		c.running.Wait()
	})
	return c
}

// startClients starts the clients of fault runs: a report client for each phone system and a poller for each reader.
func (h *harness) startClients() *clients {
	h.tb.Helper()
	return h.newClients(false, func(ctx context.Context, c *clients) {
		for _, r := range h.readers {
			p := poller{monotonicReader: c.newMonotonicReader(), reader: r}
			c.running.Go(func() { p.run(ctx) })
		}
	})
}

// every calls do at an interval until ctx ends or nothing changes any more.
func (c *clients) every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.finished:
			return
		case <-tick.C:
			do()
		}
	}
}

// get requests a path from a reader. ok means status 200. A refusal that the clients don't tolerate, and a
// connection error of a reader that is up, are violations.
func (c *clients) get(ctx context.Context, r *reader, path string, key access.Key, expected ...int) (got response, ok bool) {
	url := r.url.Load()
	if url == nil {
		return got, false
	}
	got, err := c.client.get(ctx, *url+path, key)
	switch {
	case ctx.Err() != nil:
	case err != nil && r.url.Load() == url:
		c.violation("%s%s: %v, although the reader is up", r.Name(), path, err)
	case err != nil:
		c.count(0)
	default:
		c.count(got.status)
		if got.status != http.StatusOK && !slices.Contains(expected, got.status) && !c.tolerates(got) {
			c.violation("%s%s: status = %d: %s\n%s", r.Name(), path, got.status, got.body, r.logOf(got.body))
		}
		return got, got.status == http.StatusOK
	}
	return got, false
}

// tolerates reports whether a refusal is no violation. Strict clients tolerate one: a report operation's 429
// without a known budget, when NATS has replied to nothing for a second on a busy machine.
func (c *clients) tolerates(r response) bool {
	if c.strict {
		return r.status == http.StatusTooManyRequests && r.header.Get("RateLimit") == ""
	}
	return r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable
}

func (c *clients) count(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[status]++
}

// responses returns the number of responses so far.
func (c *clients) responses() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, count := range c.statuses {
		n += count
	}
	return n
}

// violation fails the test. The first ten are logged.
func (c *clients) violation(format string, values ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.violations++; c.violations <= 10 {
		c.harness.tb.Errorf("violation: %.2000s", fmt.Sprintf(format, values...))
	}
}

// finish lets the clients read up to the last change, and checks what they have read. The load must have stopped.
func (c *clients) finish() {
	h := c.harness
	h.tb.Helper()
	h.awaitCaughtUp()
	if err := h.pool.QueryRow(h.tb.Context(), "select max(clock) from projection.position").Scan(&c.lastChange); err != nil {
		h.tb.Fatal(err)
	}
	close(c.finished)
	done := make(chan struct{})
	go func() { c.running.Wait(); close(done) }()
	eventstest.Eventually(h.tb, "the clients finish", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	rows, windows, reread, provisional := 0, 0, 0, 0
	for _, r := range c.reports {
		rows += r.checkRows()
		windows, reread, provisional = windows+r.windows, reread+r.reread, provisional+r.provisional
	}
	h.summary.addTotal("%d report rows in %d windows, %d windows read twice, %d provisional pages", rows, windows, reread, provisional)
	h.summary.addTotal("%d violations; responses by status (0: the reader was killed): %v", c.violations, c.statuses)
}

// monotonicReader is a client that sends one request after the other and checks that Data-Complete-Through of a
// phone system never decreases, whichever reader answers.
type monotonicReader struct {
	*clients
	completeThrough map[string]time.Time // by phone system
}

func (c *clients) newMonotonicReader() *monotonicReader {
	return &monotonicReader{clients: c, completeThrough: map[string]time.Time{}}
}

// get is [clients.get] with the check.
func (m *monotonicReader) get(ctx context.Context, r *reader, path string, key access.Key, expected ...int) (got response, ok bool) {
	got, ok = m.clients.get(ctx, r, path, key, expected...)
	value := got.header.Get("Data-Complete-Through")
	if value == "" {
		return got, ok
	}
	const systemPath = len("/7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10")
	now, err := time.Parse(time.RFC3339, value)
	if before := m.completeThrough[path[:systemPath]]; err != nil || now.Before(before) {
		m.violation("%s%s: Data-Complete-Through = %s after %s: %v", r.Name(), path, value, before, err)
	}
	m.completeThrough[path[:systemPath]] = now
	return got, ok
}
