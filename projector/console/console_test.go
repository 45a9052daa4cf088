package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector/projectortest"
	"callboard/projector/status"
	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

// harness is a console of a real projection, with the rights of a projector.
type harness struct {
	*projectortest.Harness
	console *Console
	url     string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	h := &harness{Harness: projectortest.NewHarness(t)}
	h.console = New(Config{Interval: time.Millisecond, Source: status.Source{
		JetStream: h.JetStream, Stream: events.StreamName, Pool: h.Database.RolePool(h, "callboard_projector"), Definition: schema.Definition(),
	}})
	mux := http.NewServeMux()
	for pattern, handler := range h.console.Pages() {
		mux.Handle(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

type answer struct {
	status int
	header http.Header
	body   string
}

// get returns a response. The report that it shows was read for it.
func (h *harness) get(path string) answer {
	h.Helper()
	h.console.cache.mu.Lock()
	h.console.cache.tried = time.Time{}
	h.console.cache.mu.Unlock()
	request, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		h.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func (h *harness) requirePage(wants ...string) {
	h.Helper()
	page := h.get("/")
	if page.status != http.StatusOK {
		h.Fatalf("status = %d, want 200", page.status)
	}
	for _, want := range wants {
		if !strings.Contains(page.body, want) {
			h.Errorf("page = %s, want it to contain %q", page.body, want)
		}
	}
}

func (h *harness) waitForPage(want string) {
	h.Helper()
	eventstest.Eventually(h.TB, "the page shows "+want, func() bool {
		return strings.Contains(h.get("/").body, want)
	})
}

// The page shows events, dead letters and a rebuild; the JSON is that of the status.
func TestConsole(t *testing.T) {
	h := newHarness(t)
	stop := h.StartProjector()
	system := h.NewSystemIn(2)
	h.PublishStates(projectortest.PhoneSystem(system), projectortest.Call(system, uuid.New()))
	h.PublishRaw(events.Subject(system, events.EntityCall), nil, "<script>")
	h.WaitUntilCaughtUp()
	h.requirePage("that could not be applied: 1", "callboard dead-letters retry 1", "not JSON")
	if page := h.get("/").body; strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("page = %s, want no data of messages", page)
	}

	stop()
	h.Exec(`insert into control.generation (definition, state) values ('x', 'building')`)
	h.waitForPage("no owner")
	h.requirePage("No projector owns a partition", "callboard rebuild --abandon")

	statusJSON := h.get("/status.json")
	want, err := h.console.config.Source.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got status.Report
	err = json.Unmarshal([]byte(statusJSON.body), &got)
	want.Time, want.ClockAgeSeconds, want.ClockAhead.Seconds = got.Time, got.ClockAgeSeconds, got.ClockAhead.Seconds
	text, encodeErr := json.Marshal(want)
	if statusJSON.status != http.StatusOK || statusJSON.header.Get("Content-Type") != "application/json" ||
		errors.Join(err, encodeErr) != nil || strings.TrimSpace(statusJSON.body) != string(text) {
		t.Errorf("status.json = %d %s, %v, want 200 and %s", statusJSON.status, statusJSON.body, err, text)
	}
}

// While PostgreSQL refuses connections the page shows the last report and says why. It goes on by itself.
func TestConsole_DatabaseDown(t *testing.T) {
	h := newHarness(t)
	h.PublishStates(projectortest.PhoneSystem(h.NewSystemIn(1)))
	h.requirePage("No projector owns a partition")
	other := schematest.NewEmpty(t).Pool(t) // a session can't close its own database
	allow := func(allowed string) {
		t.Helper()
		name := projectortest.QueryOne[string](h.Harness, "select current_database()")
		schematest.Exec(t, other, "alter database "+name+" with allow_connections "+allowed)
	}
	allow("false")
	h.Exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'callboard_projector'")
	h.requirePage("The report could not be read", "The page shows the report of", "No projector owns a partition")
	if got := h.get("/status.json"); got.status != http.StatusServiceUnavailable || !strings.HasPrefix(got.body, `{"error":"`) {
		t.Errorf("status.json = %d %s, want 503 and the error", got.status, got.body)
	}
	allow("true")
	if page := h.get("/").body; strings.Contains(page, "could not be read") {
		t.Errorf("page = %s, want a new report", page)
	}
}

// Samples are taken and a report is read without anybody looking.
func TestConsole_Run(t *testing.T) {
	h := newHarness(t)
	h.Exec(`insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values (1, $1, 0, 1, now(), now() - interval '90 seconds')`, h.StreamID())
	stop := h.Run(func(ctx context.Context) error { return h.console.Run(ctx) })
	eventstest.Eventually(t, "4 samples", func() bool {
		list := h.console.history.samples()
		return len(list) >= 4 && list[0].known && list[0].seconds > 89
	})
	stop()
	if h.console.cache.last.report == nil {
		t.Error("report = nil, want one that was read without a page load")
	}
}

// The headers keep the page out of caches, frames and other sites, and allow its own style and script only.
func TestConsole_Headers(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{"/", "/status.json"} {
		header := h.get(path).header
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy = %q, want only hashes", path, policy)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", path, name, got, want)
			}
		}
	}
}

// A report is read at most once in a while, however many pages are loaded.
func TestCache(t *testing.T) {
	h := newHarness(t)
	c := &h.console.cache
	first := c.get(t.Context(), time.Hour)
	if second := c.get(t.Context(), time.Hour); second.report != first.report {
		t.Error("the report was read again, want the same one")
	}
	c.took, c.tried = time.Hour, time.Now()
	if second := c.get(t.Context(), 0); second.report != first.report {
		t.Error("the report was read again although it takes long to read, want the same one")
	}
	c.tried = time.Now().Add(-maxPause)
	if second := c.get(t.Context(), 0); second.report == first.report {
		t.Error("the report was not read again, want a new one after the pause")
	}
}
