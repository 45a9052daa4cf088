package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
)

// reportClient follows a phone system's reports by updatedAt, window after window, each up to now or to a second
// ago. It relies on the API's promise that no row is added to a window that has been read to its end, and that no
// row changes without a later updatedAt.
type reportClient struct {
	*monotonicReader
	system uuid.UUID
	start  time.Time // of the first window
	from   time.Time // the start of the next window
	seen   map[string]seenRow
	recent []window
	gone   []version // rows that a window no longer had when it was read again

	windows, reread, provisional, requests int
}

// version is a row with the updatedAt that it had at one time.
type version struct {
	id        string
	updatedAt time.Time
}

// seenRow is a row as it was last read.
type seenRow struct {
	updatedAt time.Time
	contents  string
}

// window is a report window and the rows that were read in it, with their contents.
type window struct {
	from, until time.Time
	rows        map[version]string
}

func newWindow(from, until time.Time) window {
	return window{from: from, until: until, rows: map[version]string{}}
}

// query returns the parameters of the window's first page.
func (w *window) query(limit int) url.Values {
	return url.Values{
		"timeField": {"updatedAt"}, "limit": {strconv.Itoa(limit)},
		"dateFrom": {w.from.UTC().Format(time.RFC3339Nano)}, "dateTo": {w.until.UTC().Format(time.RFC3339Nano)},
	}
}

func (w *window) add(page reportPage) {
	for _, row := range page.Data {
		w.rows[version{row.id, row.updatedAt}] = row.contents
	}
}

func (c *clients) newReportClient(system uuid.UUID) *reportClient {
	start := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	return &reportClient{monotonicReader: c.newMonotonicReader(), system: system, start: start, from: start, seen: map[string]seenRow{}}
}

const (
	windowInterval = 300 * time.Millisecond
	windowDelay    = time.Second // between the end of every other window and the present
	recentWindows  = 50          // that can be read again
)

// nextWindow returns the window from the end of the last one.
func (c *reportClient) nextWindow() window {
	delay := windowDelay * time.Duration(rand.IntN(2))
	return newWindow(c.from, time.Now().Add(-delay).Truncate(time.Millisecond))
}

// run reads windows until one has ended after the last change.
func (c *reportClient) run(ctx context.Context) {
	tick := time.NewTicker(windowInterval)
	defer tick.Stop()
	finished := c.finished
	for finished != nil || !c.from.After(c.lastChange) {
		select {
		case <-ctx.Done():
			return
		case <-finished:
			finished = nil
		case <-tick.C:
		}
		next := c.nextWindow()
		if !next.until.After(next.from) || !c.read(ctx, tick, &next) {
			continue
		}
		c.windows++
		c.from = next.until
		for row, contents := range next.rows {
			if row.updatedAt.After(c.seen[row.id].updatedAt) {
				c.seen[row.id] = seenRow{row.updatedAt, contents}
			}
		}
		c.recent = append(c.recent, next)[max(0, len(c.recent)+1-recentWindows):]
		if rand.IntN(4) == 0 {
			c.readAgain(ctx, tick)
		}
	}
}

// readAgain reads a window again. Rows can have left it, because they were changed or deleted; none can have been
// added.
func (c *reportClient) readAgain(ctx context.Context, tick *time.Ticker) {
	before := c.recent[rand.IntN(len(c.recent))]
	now := newWindow(before.from, before.until)
	if !c.read(ctx, tick, &now) {
		return
	}
	c.reread++
	for row, contents := range now.rows {
		switch first, known := before.rows[row]; {
		case !known:
			c.violation("report of %s from %s to %s: %v was added after the window was read", c.system, now.from, now.until, row)
		case contents != first:
			c.violation("report of %s: %v = %s, was %s before", c.system, row, contents, first)
		}
	}
	for row := range before.rows {
		if _, left := now.rows[row]; !left {
			c.gone = append(c.gone, row)
		}
	}
}

// read reads a window to its end. It returns false if ctx ends before.
func (c *reportClient) read(ctx context.Context, tick *time.Ticker, w *window) bool {
	values := w.query(10 + rand.IntN(91))
	for more := true; more; {
		page, ok := c.page(ctx, values)
		if !ok {
			select {
			case <-ctx.Done():
				return false
			case <-tick.C:
				continue
			}
		}
		w.add(page)
		if page.completeThrough.Before(w.until) {
			c.provisional++
		}
		more = page.HasMore
		values.Set("cursor", page.NextCursor)
	}
	return true
}

type reportPage struct {
	Data       []reportRow
	NextCursor string
	HasMore    bool

	completeThrough time.Time
}

type reportRow struct {
	id        string
	updatedAt time.Time
	contents  string // the members that don't change without updatedAt
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *reportRow) UnmarshalJSON(data []byte) error {
	var known struct {
		ID        string
		UpdatedAt time.Time
	}
	var members map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(data, &known), json.Unmarshal(data, &members)); err != nil {
		return err
	}
	// The names in these, and whether what they refer to still exists, are looked up when the row is read.
	for _, name := range []string{
		"answeredByExtension", "fromExtension", "callGroup", "representative", "category", "overallSentiment", "employeeSentiment", "customerSentiment",
	} {
		delete(members, name)
	}
	contents, err := json.Marshal(members)
	*r = reportRow{id: known.ID, updatedAt: known.UpdatedAt.UTC(), contents: string(contents)}
	return err
}

// page requests a page from a random reader. ok is false if there is no page now.
func (c *reportClient) page(ctx context.Context, values url.Values) (page reportPage, ok bool) {
	c.requests++
	h := c.harness
	keys := h.keys.reports[c.system]
	r := h.readers[rand.IntN(len(h.readers))]
	got, ok := c.get(ctx, r, "/"+c.system.String()+"/call-log-reports?"+values.Encode(), keys[c.requests%len(keys)])
	if !ok {
		return page, false
	}
	err := json.Unmarshal(got.body, &page)
	if err == nil {
		page.completeThrough, err = time.Parse(time.RFC3339, got.header.Get("Data-Complete-Through"))
	}
	if err != nil {
		c.violation("report of %s: %v", c.system, err)
	}
	return page, err == nil
}

const allCalls = "select id::text, updated_at from projection.call_log where system_id = $1"

// checkRows compares the rows that were read with the table, and with a report of all rows: every row was read as
// it was last changed, with the values that it has. It returns their number.
func (c *reportClient) checkRows() int {
	h := c.harness
	h.tb.Helper()
	final := h.versions(allCalls, c.system)
	for id, updatedAt := range final {
		if got := c.seen[id].updatedAt; !got.Equal(updatedAt) {
			c.violation("report of %s: updatedAt of %s = %s, want %s; the windows reach to %s", c.system, id, got, updatedAt, c.from)
		}
	}
	tick := time.NewTicker(windowInterval)
	defer tick.Stop()
	all := newWindow(c.start, c.lastChange.Add(time.Millisecond))
	if !c.read(h.tb.Context(), tick, &all) || len(all.rows) != len(final) {
		c.violation("report of %s: rows = %d, want the %d of the table", c.system, len(all.rows), len(final))
	}
	for row, contents := range all.rows {
		if got := c.seen[row.id].contents; got != contents {
			c.violation("report of %s: %v was read as %s, and is %s", c.system, row, got, contents)
		}
	}
	for _, row := range c.gone {
		if final[row.id].Equal(row.updatedAt) {
			c.violation("report of %s: %v was missing when its window was read again", c.system, row)
		}
	}
	return len(final)
}

// versions returns updatedAt by id of the rows that a query selects.
func (h *harness) versions(query string, parameters ...any) map[string]time.Time {
	h.tb.Helper()
	rows, _ := h.pool.Query(h.tb.Context(), query, parameters...)
	versions := map[string]time.Time{}
	var row version
	_, err := pgx.ForEachRow(rows, []any{&row.id, &row.updatedAt}, func() error {
		versions[row.id] = row.updatedAt.UTC()
		return nil
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	return versions
}

// cursorInFlight is a report of which the first page has been read, and whose cursor is used after a rebuild or a
// rollback.
type cursorInFlight struct {
	*reportClient
	window window
	values url.Values
}

const (
	cursorRows    = 10 // in a page
	cursorRowsMin = 30 // in the window before its first page is read
)

// openCursors reads the first page of a report of each phone system.
func (c *clients) openCursors(ctx context.Context) (list []*cursorInFlight) {
	h := c.harness
	h.tb.Helper()
	for _, system := range h.load.systems() {
		f := &cursorInFlight{reportClient: c.newReportClient(system)}
		eventstest.Eventually(h.tb, "a report has several pages", func() bool {
			f.window = f.nextWindow()
			return len(h.versions(callsInWindow, system, f.window.from, f.window.until)) >= cursorRowsMin
		})
		f.values = f.window.query(cursorRows)
		eventstest.Eventually(h.tb, "the first page is final", func() bool {
			more, final := f.readPage(ctx)
			return more && final
		})
		list = append(list, f)
	}
	return list
}

// readPage reads the next page. Without an answer it has to be called again.
func (f *cursorInFlight) readPage(ctx context.Context) (more, final bool) {
	page, ok := f.page(ctx, f.values)
	if !ok {
		return true, false
	}
	f.window.add(page)
	f.values.Set("cursor", page.NextCursor)
	return page.HasMore, !page.completeThrough.Before(f.window.until)
}

const callsInWindow = allCalls + " and updated_at >= $2 and updated_at < $3"

// finishCursors reads the reports to their end. All rows that are still in the window must have been in one of the
// pages.
func (c *clients) finishCursors(ctx context.Context, list []*cursorInFlight) {
	h := c.harness
	h.tb.Helper()
	for _, f := range list {
		for more := true; more && !h.tb.Failed(); {
			more, _ = f.readPage(ctx)
		}
		for id, updatedAt := range h.versions(callsInWindow, f.system, f.window.from, f.window.until) {
			row := version{id, updatedAt}
			if _, read := f.window.rows[row]; !read {
				f.violation("report of %s from %s to %s: no page had %v", f.system, f.window.from, f.window.until, row)
			}
		}
	}
}
