package readapi

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callboard/readapi/access"
	"callboard/readapi/query"
	"callboard/schema/schematest"
)

// shortWait makes provisional pages wait less.
func shortWait(c *Config) { c.watermarkWait = 50 * time.Millisecond }

// page reads a report page and returns the last digits of its rows, with + if there are more, and its cursor.
func (h *harness) page(path string, key access.IssuedKey) (rows, cursor string) {
	h.Helper()
	w := h.get(path, withKey(key))
	h.expectCode(path, w, "")
	return digits(h, w)
}

func digits(tb testing.TB, w *httptest.ResponseRecorder) (rows, cursor string) {
	tb.Helper()
	var page reportPage
	decode(tb, w, &page)
	var text strings.Builder
	for _, row := range page.Data {
		text.WriteByte(row.ID.String()[35])
	}
	if page.HasMore {
		text.WriteByte('+')
	}
	if page.NextCursor == nil {
		tb.Fatalf("nextCursor = null, want a cursor: %s", w.Body)
	}
	return text.String(), *page.NextCursor
}

// While the watermark is before the window's end, pages are provisional: their cursor stays at that of the request.
func TestWalk_Provisional(t *testing.T) {
	t.Parallel()
	h := newHarness(t, shortWait)
	system := h.system("one")
	key := h.key(system)
	for i := range 4 {
		h.calls(system, call{id: nth(i), sid: "CA1", createdAt: at(windowFrom).Add(time.Duration(i) * time.Hour)})
	}
	page := func(more ...string) (rows, cursor string) {
		return h.page(reportPath(system, reportQuery(append(more, "limit", "2")...)), key)
	}
	end := at(windowTo)
	h.setWatermark(end.Add(-time.Millisecond))
	rows, first := page()
	if rows != "01+" {
		t.Errorf("provisional first page = %s, want 01+", rows)
	}
	for _, request := range [][]string{nil, {"cursor", first}, {"cursor", first}} {
		if _, again := page(request...); again != first {
			t.Errorf("cursor of the provisional first page = %s, want %s", again, first)
		}
	}
	retry := func(want string) {
		t.Helper()
		w := h.get(reportPath(system, reportQuery()), withKey(key))
		h.expectHeaders("page", w, map[string]string{"Retry-After": want})
	}
	retry("1")
	h.setWatermark(end)
	rows, again := page("cursor", first)
	if rows != "01+" {
		t.Errorf("final first page = %s, want 01+", rows)
	}
	retry("")
	h.setWatermark(end.Add(-time.Millisecond))
	rows, second := page("cursor", again)
	if rows != "23+" || second != again || second == first {
		t.Errorf("provisional second page = %s, cursor = %s, want 23+, %s", rows, second, again)
	}
	h.setWatermark(end)
	if rows, _ = page("cursor", second); rows != "23" {
		t.Errorf("final second page = %s, want 23", rows)
	}
	if rows, _ = page("cursor", first); rows != "01+" {
		t.Errorf("page of the first cursor = %s, want 01+", rows)
	}
}

// notifyWatermarkReads returns a channel that is notified of reads of the watermark alone.
func notifyWatermarkReads(tb testing.TB) (reads <-chan struct{}, option func(*Config)) {
	tb.Helper()
	notified := make(chan struct{}, 1)
	return notified, withTracer(tb, &schematest.Tracer{Statement: func(sql string, _ []any) {
		if strings.Contains(sql, "projection.position") && !strings.Contains(sql, "call_log") {
			notify(notified)
		}
	}})
}

// withTracer traces the statements on the projection.
func withTracer(tb testing.TB, tracer *schematest.Tracer) func(*Config) {
	tb.Helper()
	return func(c *Config) { c.Projection = schematest.OpenTracedPool(tb, c.Primary, tracer) }
}

// A watermark that reaches the window's end during the wait makes the page final. It has the rows that were added
// meanwhile.
func TestWalk_WaitsForTheWatermark(t *testing.T) {
	t.Parallel()
	reads, option := notifyWatermarkReads(t)
	h := newHarness(t, option, func(c *Config) { c.Timeout, c.watermarkWait = time.Hour, time.Hour })
	system := h.system("one")
	key := h.key(system)
	h.calls(system, call{id: nth(1), sid: "CA1", createdAt: at(windowFrom)})
	h.setWatermark(at(windowFrom))
	answers := make(chan *httptest.ResponseRecorder)
	go func() { answers <- h.get(reportPath(system, reportQuery()), withKey(key)) }()
	<-reads
	h.calls(system, call{id: nth(0), sid: "CA1", createdAt: at(windowFrom)})
	h.setWatermark(at(windowTo))
	w := <-answers
	if rows, _ := digits(t, w); rows != "01" {
		t.Errorf("rows = %s, want 01", rows)
	}
	h.expectHeaders("final page", w, map[string]string{"Data-Complete-Through": "2026-03-02T00:00:00.000Z"})
}

// The wait leaves two fifths of the request's time. A page that has no more than that is answered as it is.
func TestReports_WaitFor(t *testing.T) {
	t.Parallel()
	r := &reports{watermarkWait: time.Minute, timeout: time.Hour}
	for left, want := range map[time.Duration]time.Duration{
		time.Hour:                        time.Minute,
		24*time.Minute + 20*time.Second:  20 * time.Second,
		24*time.Minute - 100*time.Second: -100 * time.Second,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), left)
		if got := r.waitFor(ctx); got > want || got < want-10*time.Second {
			t.Errorf("wait with %s left = %s, want %s", left, got, want)
		}
		cancel()
	}
}

// In a window whose end is in the future, cursors advance, and no page is the last. The end is in the future by the
// clocks, wherever the watermark is. Used after the end, cursors start the window again, so that the walk reads the
// rows that were added before them.
func TestWalk_Early(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	clock := new(movedClock)
	h := newHarness(t, shortWait, clock.option)
	system := h.system("one")
	key := h.key(system)
	path := reportPath(system, reportQuery("dateTo", end.Format(time.RFC3339Nano), "limit", "2"))
	for i := range 3 {
		h.calls(system, call{id: nth(i + 1), sid: "CA1", createdAt: at(windowFrom).Add(time.Duration(i) * time.Minute)})
	}
	h.setWatermark(end.Add(24 * time.Hour))
	rows, first := h.page(path, key)
	if rows != "12+" {
		t.Errorf("first page = %s, want 12+", rows)
	}
	rows, second := h.page(path+"&cursor="+first, key)
	if rows != "3+" {
		t.Errorf("second page = %s, want 3+", rows)
	}
	w := h.get(path+"&cursor="+first, withKey(key))
	h.expectHeaders("page up to the last row", w, map[string]string{"Retry-After": "1"})
	h.calls(system, call{id: nth(0), sid: "CA1", createdAt: at(windowFrom)}, call{id: nth(4), sid: "CA1", createdAt: at(windowFrom).Add(time.Hour)})
	rows, third := h.page(path+"&cursor="+second, key)
	if rows != "4+" {
		t.Errorf("third page = %s, want 4+", rows)
	}
	// The end has passed by the reader's clock, and not by the database's: every page is the window's first one, and
	// is not its last.
	clock.move(2 * time.Hour)
	for _, early := range []string{first, second, third} {
		rows, cursor := h.page(path+"&cursor="+early, key)
		if rows != "01+" {
			t.Errorf("page of an early cursor after the end = %s, want 01+", rows)
		}
		if rows, _ = h.page(path+"&cursor="+cursor, key); rows != "01+" {
			t.Errorf("page of its cursor = %s, want 01+", rows)
		}
	}
}

// movedClock is a reader's clock that a test moves.
type movedClock struct{ by atomic.Int64 }

func (m *movedClock) option(c *Config) {
	c.now = func() time.Time { return time.Now().Add(time.Duration(m.by.Load())) }
}

func (m *movedClock) move(by time.Duration) { m.by.Store(int64(by)) }

func TestReportRequest_StateOf(t *testing.T) {
	t.Parallel()
	end := at(windowTo)
	before, after := end.Add(-time.Millisecond), end.Add(time.Hour)
	from := at(windowFrom)
	for _, test := range []struct {
		name                        string
		from                        time.Time
		watermark, reader, database time.Time
		want                        pageState
	}{
		{"all have reached the end", from, end, end, end, final},
		{"all are after it", from, after, after, after, final},
		{"the watermark is before it", from, before, after, after, provisional},
		{"the reader's clock is before it", from, after, before, after, provisional},
		{"the database's clock is before it", from, after, after, before, provisional},
		{"only the watermark has reached it", from, after, before, before, early},
		{"none has reached it", from, before, before, before, early},
		{"an empty window", end, before, before, before, final},
	} {
		q := reportRequest{from: test.from, until: end}
		page := query.ReportPage{CompleteThrough: test.watermark, Now: test.database}
		if got := q.stateOf(page, test.reader); got != test.want {
			t.Errorf("%s: state = %d, want %d", test.name, got, test.want)
		}
	}
}

// No answer says that it is complete up to an instant that has not come.
func TestCompleteThrough_IsNotAheadOfTheReadersClock(t *testing.T) {
	t.Parallel()
	now := at("2026-03-02T10:00:00.5Z")
	h := newHarness(t, func(c *Config) { c.now = func() time.Time { return now } })
	system := h.system("one")
	key := h.key(system)
	for _, step := range []struct{ watermark, want string }{
		{"2026-03-02T10:00:00.499Z", "2026-03-02T10:00:00.499Z"},
		{"2026-03-02T10:00:00.5Z", "2026-03-02T10:00:00.500Z"},
		{"2026-03-03T10:00:00Z", "2026-03-02T10:00:00.500Z"},
	} {
		h.setWatermark(at(step.watermark))
		for _, path := range []string{reportPath(system, reportQuery()), systemPath(system, "/call-logs")} {
			h.expectHeaders(path, h.get(path, withKey(key)), map[string]string{"Data-Complete-Through": step.want})
		}
	}
}
