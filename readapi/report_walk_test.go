package readapi

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/readapi/access"
)

// standing moves every partition's watermark.
func (h *harness) standing(watermark time.Time) {
	h.Helper()
	h.exec("update projection.position set watermark = $1", watermark)
}

// seen is what a page of a window says: its rows' last digits, and + where there is more.
func (h *harness) seen(path string, key access.IssuedKey) (rows, cursor string) {
	h.Helper()
	w := h.get(path, withKey(key))
	if w.Code != 200 {
		h.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return summarized(h, w)
}

func summarized(tb testing.TB, w *httptest.ResponseRecorder) (rows, cursor string) {
	tb.Helper()
	var page reportPage
	decode(tb, w, &page)
	var digits strings.Builder
	for _, row := range page.Data {
		digits.WriteByte(row.ID.String()[35])
	}
	if page.HasMore {
		digits.WriteByte('+')
	}
	if page.NextCursor == nil {
		tb.Fatalf("no cursor: %s", w.Body)
	}
	return digits.String(), *page.NextCursor
}

// While the watermark is behind the window's end, pages are provisional: their cursor stays where the request came from.
func TestWalk_Provisional(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	for i := range 4 {
		h.calls(system, call{id: nth(i), sid: "CA1", createdAt: at(windowFrom).Add(time.Duration(i) * time.Hour)})
	}
	page := func(more ...string) (rows, cursor string) {
		return h.seen(reportPath(system, reportQuery(append(more, "limit", "2")...)), key)
	}
	end := at(windowTo)
	h.standing(end.Add(-time.Millisecond))
	rows, first := page()
	if rows != "01+" {
		t.Errorf("the first page, behind: %s", rows)
	}
	h.standing(end)
	rows, again := page("cursor", first)
	if rows != "01+" {
		t.Errorf("its cursor, caught up: %s", rows)
	}
	h.standing(end.Add(-time.Millisecond))
	rows, second := page("cursor", again)
	if rows != "23+" {
		t.Errorf("the second page, behind: %s", rows)
	}
	h.standing(end)
	if rows, _ = page("cursor", second); rows != "23" {
		t.Errorf("its cursor, caught up: %s", rows)
	}
	if rows, _ = page("cursor", first); rows != "01+" {
		t.Errorf("the first page's cursor: %s", rows)
	}
}

// waiting is a channel of the reader's looks at the watermark.
func waiting(tb testing.TB) (looks looker, option func(*Config)) {
	tb.Helper()
	looks = make(looker, 1)
	return looks, tracedBy(tb, looks)
}

// tracedBy has the tracer told of every statement on the projection.
func tracedBy(tb testing.TB, tracer pgx.QueryTracer) func(*Config) {
	tb.Helper()
	return func(c *Config) {
		config := c.Primary.Config()
		config.ConnConfig.Tracer = tracer
		pool, err := pgxpool.NewWithConfig(context.Background(), config)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(pool.Close)
		c.Projection = pool
	}
}

// looker tells of statements that read the watermark and nothing else.
type looker chan struct{}

// TraceQueryStart implements [pgx.QueryTracer].
func (l looker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "call_log") {
		select {
		case l <- struct{}{}:
		default:
		}
	}
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (looker) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A watermark that comes while the request waits makes the page final, with what came with it.
func TestWalk_Waits(t *testing.T) {
	looks, option := waiting(t)
	h := newHarness(t, option, func(c *Config) { c.Timeout, c.watermarkWait = time.Minute, time.Minute })
	system := h.system("one")
	key := h.key(system)
	h.calls(system, call{id: nth(1), sid: "CA1", createdAt: at(windowFrom)})
	h.standing(at(windowFrom))
	answers := make(chan *httptest.ResponseRecorder)
	go func() { answers <- h.get(reportPath(system, reportQuery()), withKey(key)) }()
	<-looks
	h.calls(system, call{id: nth(0), sid: "CA1", createdAt: at(windowFrom)})
	h.standing(at(windowTo))
	w := <-answers
	if rows, _ := summarized(t, w); rows != "01" || w.Header().Get("Data-Complete-Through") != "2026-03-02T00:00:00.000Z" {
		t.Errorf("%s, complete through %s", rows, w.Header().Get("Data-Complete-Through"))
	}
}

// A request that is given up while it waits stops waiting.
func TestWalk_GivenUp(t *testing.T) {
	looks, option := waiting(t)
	h := newHarness(t, option)
	system := h.system("one")
	key := h.key(system)
	h.standing(at(windowFrom))
	ctx, cancel := context.WithCancel(t.Context())
	q := httptest.NewRequestWithContext(ctx, "GET", baseURL+reportPath(system, reportQuery()), nil)
	withKey(key)(q.Header)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.abandoned(w, q)
	}()
	<-looks
	cancel()
	<-done
	if line := h.log.last(t); line["status"] != 499.0 || len(w.Header()) > 0 {
		t.Errorf("logged %v, sent %v", line, w.Header())
	}
}

// A request's time ends the wait, too, if it is the shorter.
func TestWalk_Timeout(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.Timeout = 300 * time.Millisecond })
	system := h.system("one")
	key := h.key(system)
	h.standing(at(windowFrom))
	h.expectUnavailable(h.get(reportPath(system, reportQuery()), withKey(key)))
}

// A window that holds no instant is final at once.
func TestWalk_Empty(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	h.standing(at(windowFrom).Add(-time.Hour))
	if rows, _ := h.seen(reportPath(system, reportQuery("dateTo", windowFrom)), h.key(system)); rows != "" {
		t.Errorf("%q", rows)
	}
}

// A window whose end is yet to come is served as it stands. Its cursors go on until the end has come, and then begin anew, so
// that what came in behind them is seen.
func TestWalk_Early(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	end := time.Now().Add(time.Hour).UTC()
	path := reportPath(system, reportQuery("dateTo", end.Format(time.RFC3339Nano), "limit", "2"))
	for i := range 3 {
		h.calls(system, call{id: nth(i + 1), sid: "CA1", createdAt: at(windowFrom).Add(time.Duration(i) * time.Minute)})
	}
	rows, first := h.seen(path, key)
	if rows != "12+" {
		t.Errorf("the first page: %s", rows)
	}
	rows, second := h.seen(path+"&cursor="+first, key)
	if rows != "3" {
		t.Errorf("the second page: %s", rows)
	}
	h.calls(system, call{id: nth(0), sid: "CA1", createdAt: at(windowFrom)}, call{id: nth(4), sid: "CA1", createdAt: at(windowFrom).Add(time.Hour)})
	rows, third := h.seen(path+"&cursor="+second, key)
	if rows != "4" {
		t.Errorf("the third page: %s", rows)
	}
	h.standing(end.Add(time.Millisecond))
	for _, early := range []string{first, second, third} {
		rows, cursor := h.seen(path+"&cursor="+early, key)
		if rows != "01+" {
			t.Errorf("an early cursor after the end: %s", rows)
		}
		if rows, cursor = h.seen(path+"&cursor="+cursor, key); rows != "23+" {
			t.Errorf("the page behind: %s", rows)
		}
		if rows, _ = h.seen(path+"&cursor="+cursor, key); rows != "4" {
			t.Errorf("the last page: %s", rows)
		}
	}
}

// An early cursor whose end has come by the clock begins anew even while the watermark is behind.
func TestWalk_EarlyProvisional(t *testing.T) {
	h := newHarness(t)
	system := h.system("one")
	key := h.key(system)
	h.calls(system, call{id: nth(0), sid: "CA1", createdAt: at(windowFrom)}, call{id: nth(1), sid: "CA1", createdAt: at(windowFrom)})
	from, _ := parseInstant(windowFrom)
	to, _ := parseInstant(windowTo)
	q := reportRequest{field: "createdAt", from: from.roundUp()}
	early := cursor{early: true, after: q.start().after}
	early.after.Time = early.after.Time.Add(time.Hour)
	sealed := early.seal(testSealer(t, string(h.config.Secret), "cursor"), digestWindow(system, q.field, from, to))
	h.standing(at(windowFrom))
	rows, next := h.seen(reportPath(system, reportQuery("limit", "1", "cursor", sealed)), key)
	if rows != "0+" {
		t.Errorf("behind: %s", rows)
	}
	h.standing(at(windowTo))
	rows, next = h.seen(reportPath(system, reportQuery("limit", "1", "cursor", next)), key)
	if rows != "0+" {
		t.Errorf("caught up: %s", rows)
	}
	if rows, _ = h.seen(reportPath(system, reportQuery("limit", "1", "cursor", next)), key); rows != "1" {
		t.Errorf("behind it: %s", rows)
	}
}

// Another system's partition standing still holds nobody up.
func TestWalk_OwnPartition(t *testing.T) {
	h := newHarness(t)
	system, other := h.system("one"), h.system("two")
	h.exec(`insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		values (4, 'PHONES', 'epoch', 1, 1, 'epoch', 'epoch')`)
	h.exec("update projection.phone_system set partition = 4 where id = $1", other)
	for id, want := range map[uuid.UUID]string{system: "", other: "+"} {
		if rows, _ := h.seen(reportPath(id, reportQuery()), h.key(id)); rows != want {
			t.Errorf("%q, want %q", rows, want)
		}
	}
}
