package readapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/schema/schematest"
)

// writer is a response whose body is looked at while it is written.
type writer struct {
	*httptest.ResponseRecorder
	written func(b []byte)
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(b []byte) (int, error) {
	w.written(b)
	return w.ResponseRecorder.Write(b)
}

// worstCalls adds a full page of calls with texts of a length. A control character takes six bytes of JSON.
func (h *harness) worstCalls(system uuid.UUID, textBytes int) {
	h.Helper()
	text, sid := strings.Repeat("\x01", textBytes), strings.Repeat("s", maxCallSid)
	var rows []columns
	for range maxPageSize {
		rows = append(rows, columns{
			"system_id": system, "id": uuid.New(), "call_sid": sid, "parent_call_sid": sid, "recording_sid": sid,
			"status": text, "outcome": text, "from_party": text, "from_name": text, "to_party": text,
			"route_summary": strings.Repeat("r", 8<<10), "tags": []string{text, text, text},
		})
	}
	insertRows(h, h.pool, "call_log", rows...)
	countRows(h, h.pool)
}

// No body above 4 KiB is written that has no memory reserved, and none is made while there is no memory.
func TestReserve_EveryBody(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *Config) { c.Timeout, c.BodyMemory = time.Hour, largeBytes })
	system := h.system(strings.Repeat("n", 5000))
	h.worstCalls(system, 1024)
	h.refers(system, "category", strings.Repeat("c", 5000))
	menu := columns{"system_id": system, "id": nth(0), "name": strings.Repeat("n", 5000)}
	insertRows(t, h.pool, "call_menu", menu)
	key := h.key(system)
	pool := h.handler.(*service).memory
	var unknown strings.Builder
	for i := range 25 {
		fmt.Fprintf(&unknown, "&%s%d=1", strings.Repeat("%01", 40), i)
	}

	for path, status := range map[string]int{
		systemPath(system, "/call-logs?pageSize=100"):        http.StatusOK,
		systemPath(system, "/call-menus/"+nth(0).String()):   http.StatusOK,
		reportPath(system, reportQuery("limit", "25")):       http.StatusOK,
		reportPath(system, reportQuery("limit", "100")):      http.StatusRequestEntityTooLarge,
		reportPath(system, reportQuery()) + unknown.String(): http.StatusBadRequest,
		systemPath(system, "/call-log-reports/dimensions"):   http.StatusOK,
		"/customer/phone-systems":                            http.StatusOK,
	} {
		occupied, err := pool.reserve(t.Context(), uuid.New(), largeBytes, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{ResponseRecorder: httptest.NewRecorder(), written: func(b []byte) {
			if held := h.metric("callboard_readapi_body_bytes", ""); len(b) > 4<<10 && held < float64(len(b)) {
				t.Errorf("%s: a body of %d bytes is written, reserved = %v", path, len(b), held)
			}
		}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, baseURL+path, nil)
		withKey(key)(r.Header)
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.handler.ServeHTTP(w, r)
		}()
		eventstest.Eventually(t, path+" waits for memory", func() bool {
			return h.metric("callboard_readapi_body_waiting", "bytes") == 1
		})
		occupied.release()
		<-done
		if w.Code != status || status != http.StatusRequestEntityTooLarge && w.Body.Len() <= 4<<10 {
			t.Errorf("%s: response = %d, %d bytes, want %d, above 4 KiB", path, w.Code, w.Body.Len(), status)
		}
		if held := h.metric("callboard_readapi_body_bytes", ""); held != 0 {
			t.Errorf("%s: reserved at the end = %v, want 0", path, held)
		}
	}
}

// A request that finds no memory in time is told to come back. It has asked for a permit. The audit counts it, so that
// it takes no place.
func TestReserve_NoRoom(t *testing.T) {
	t.Parallel()
	js := eventstest.JetStream(t, eventstest.NewServer(t).URL()) // without the audit stream, entries keep their places
	h := newHarness(t, func(c *Config) {
		c.AuditQueue, c.Timeout, c.BodyMemory = newAuditQueue(t, js, 16), 500*time.Millisecond, largeBytes // two places for a lineage
	})
	key := h.key(h.system("one"))
	occupied, err := h.handler.(*service).memory.reserve(t.Context(), uuid.New(), largeBytes, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w := h.get("/customer/phone-systems", withKey(key))
		h.expectCode("without memory", w, serviceUnavailable)
		h.expectHeaders("without memory", w, map[string]string{"Retry-After": "1"})
		if w.Header().Get("RateLimit-Policy") == "" {
			t.Error("RateLimit-Policy is missing, want a request that asked for a permit")
		}
	}
	if got := h.metric("callboard_readapi_shed_total", "bytes"); got != 2 {
		t.Errorf("requests shed for the reason bytes = %v, want 2", got)
	}
	occupied.release()
	h.expectCode("with memory", h.get("/customer/phone-systems", withKey(key)), "")
	if _, err := js.CreateStream(t.Context(), events.AuditStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	entries := auditEntries(t, js, func(all []events.AuditEntry) bool { return len(all) >= 2 })
	if entries[0].Status != http.StatusServiceUnavailable || entries[1].Status != http.StatusOK {
		t.Errorf("entries = %+v, want a 503 and a 200", entries)
	}
}

// A request with many header lines is refused before it waits for anything. Lines of one name count.
func TestHeaderLines(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.key(h.system("one"))
	lines := func(n int) header {
		return func(header http.Header) {
			for i := range n / 2 {
				header.Set(fmt.Sprint("X-", i), "")
				header.Add("Y", "")
			}
		}
	}
	for _, path := range []string{baseURL + "/customer/phone-systems", siteURL + "/openapi.json"} {
		w := h.get(path, withKey(key), lines(maxHeaderLines-2))
		h.expectCode(path, w, "")
		w = h.get(path, withKey(key), lines(maxHeaderLines))
		h.expectCode(path, w, validationFailed)
		if got := problemIn(t, w).Errors; len(got) != 1 || got[0].Pointer != "" || got[0].Code != string(tooLong) {
			t.Errorf("%s: errors = %v, want one of the whole request", path, got)
		}
	}
}

// statuses counts responses.
type statuses struct {
	mu     sync.Mutex
	counts map[int]int
	all    sync.WaitGroup
}

// send sends requests at once.
func (s *statuses) send(h *harness, requests int, path string, headers ...header) {
	h.Helper()
	for range requests {
		s.all.Go(func() {
			w := h.get(path, headers...)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.counts == nil {
				s.counts = make(map[int]int)
			}
			s.counts[w.Code]++
			if w.Code == http.StatusServiceUnavailable && problemIn(h, w).RetryAfter != 1 {
				h.Errorf("retry_after = %d, want 1", problemIn(h, w).RetryAfter)
			}
		})
	}
}

func (s *statuses) count(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[status]
}

// Pages of one key that wait for the watermark have no memory and no connection, however many they are. All are
// answered.
func TestReserve_PagesThatWait(t *testing.T) {
	t.Parallel()
	const pages, atOnce = 100, 50
	h := newHarness(t, func(c *Config) {
		c.Timeout, c.watermarkWait = time.Hour, time.Hour
		c.Projection = schematest.OpenPoolLike(t, c.Primary, func(p *pgxpool.Config) { p.MaxConns = 2 })
	})
	system := h.system("one")
	key := h.key(system)
	h.calls(system, call{id: nth(0), sid: "CA1", createdAt: at(windowFrom)})
	h.setWatermark(at(windowFrom))
	path := reportPath(system, reportQuery("includeTranscripts", "true"))
	var sent statuses
	for range pages / atOnce {
		before := h.metric("callboard_readapi_in_flight", "")
		sent.send(h, atOnce, path, withKey(key))
		eventstest.Eventually(t, "pages wait for the watermark", func() bool {
			return h.metric("callboard_readapi_in_flight", "") == before+atOnce &&
				h.metric("callboard_readapi_body_bytes", "") == 0 && h.metric("callboard_readapi_body_waiting", "lineage") == 0
		})
	}
	h.expectCode("another operation of the key", h.get(systemPath(system, "/call-logs"), withKey(key)), "")

	h.setWatermark(at(windowTo))
	sent.all.Wait()
	if n := sent.count(http.StatusOK); n != pages {
		t.Errorf("pages answered = %d, want %d", n, pages)
	}
}
