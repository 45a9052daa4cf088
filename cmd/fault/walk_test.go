package fault_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// walk is a client that follows a phone system's reports by updatedAt, window after window, each up to a second ago. It relies on
// what it is promised: once a window was walked to its end, nothing is added to it any more.
type walk struct {
	*visitor
	system uuid.UUID
	from   time.Time            // the next window's beginning
	seen   map[string]time.Time // by id: when the row that was seen last had changed
	recent []window
	left   []version // rows that were not in their window any more

	windows, again, provisional, asked int
}

// version is a row as it was at one time.
type version struct {
	id        string
	updatedAt time.Time
}

// window is one that was walked to its end.
type window struct {
	from, until time.Time
	rows        map[version]bool
}

// query asks for the window's first page.
func (w *window) query(limit int) url.Values {
	return url.Values{
		"timeField": {"updatedAt"}, "limit": {strconv.Itoa(limit)},
		"dateFrom": {w.from.UTC().Format(time.RFC3339Nano)}, "dateTo": {w.until.UTC().Format(time.RFC3339Nano)},
	}
}

func (w *window) add(page reportPage) {
	for _, row := range page.Data {
		w.rows[version{row.ID, row.UpdatedAt.UTC()}] = true
	}
}

func newWalk(c *clients, system uuid.UUID) *walk {
	return &walk{visitor: newVisitor(c), system: system, from: time.Now().Add(-time.Hour).Truncate(time.Millisecond), seen: map[string]time.Time{}}
}

const (
	walkEvery  = 150 * time.Millisecond
	walkBehind = time.Second
	recentMost = 50
)

// run follows the reports until nothing more changes, and all that has is in a window that is over.
func (w *walk) run(ctx context.Context) {
	tick := time.NewTicker(walkEvery)
	defer tick.Stop()
	over := w.over
	for over != nil || !w.from.After(w.last) {
		select {
		case <-ctx.Done():
			return
		case <-over:
			over = nil
		case <-tick.C:
		}
		next := window{from: w.from, until: time.Now().Add(-walkBehind).Truncate(time.Millisecond)}
		if !next.until.After(next.from) || !w.read(ctx, tick, &next) {
			continue
		}
		w.windows++
		w.from = next.until
		for row := range next.rows {
			if row.updatedAt.After(w.seen[row.id]) {
				w.seen[row.id] = row.updatedAt
			}
		}
		w.recent = append(w.recent, next)[max(0, len(w.recent)+1-recentMost):]
		if rand.IntN(4) == 0 {
			w.revisit(ctx, tick)
		}
	}
}

// revisit walks a window again. Rows can have left it, by changing or by being deleted; none can have come.
func (w *walk) revisit(ctx context.Context, tick *time.Ticker) {
	before := w.recent[rand.IntN(len(w.recent))]
	now := window{from: before.from, until: before.until}
	if !w.read(ctx, tick, &now) {
		return
	}
	w.again++
	for row := range now.rows {
		if !before.rows[row] {
			w.complain("report of %s: %v came into the window from %s to %s when that was over", w.system, row, now.from, now.until)
		}
	}
	for row := range before.rows {
		if !now.rows[row] {
			w.left = append(w.left, row)
		}
	}
}

// read reads a window to its end. It is false where ctx ends before.
func (w *walk) read(ctx context.Context, tick *time.Ticker, at *window) bool {
	at.rows = map[version]bool{}
	values := at.query(10 + rand.IntN(91))
	for more := true; more; {
		page, ok := w.page(ctx, values)
		if !ok {
			select {
			case <-ctx.Done():
				return false
			case <-tick.C:
				continue
			}
		}
		at.add(page)
		if page.completeThrough.Before(at.until) {
			w.provisional++
		}
		more = page.HasMore
		values.Set("cursor", page.NextCursor)
	}
	return true
}

type reportPage struct {
	Data []struct {
		ID        string
		UpdatedAt time.Time
	}
	NextCursor string
	HasMore    bool

	completeThrough time.Time
}

// page asks one of the readers. It is false where there is no answer now.
func (w *walk) page(ctx context.Context, values url.Values) (page reportPage, ok bool) {
	w.asked++
	keys := w.stage.keyring.reports[w.system]
	r := w.stage.readers[rand.IntN(len(w.stage.readers))]
	got, ok := w.ask(ctx, r, "/"+w.system.String()+"/call-log-reports?"+values.Encode(), keys[w.asked%len(keys)], "")
	if !ok {
		return page, false
	}
	err := json.Unmarshal(got.body, &page)
	if err == nil {
		page.completeThrough, err = time.Parse(time.RFC3339, got.header.Get("Data-Complete-Through"))
	}
	if err != nil {
		w.complain("report: %v", err)
	}
	return page, err == nil
}

// examine holds what was seen against what there is: every row, as it was when it changed last. It returns how many there are.
func (w *walk) examine() int {
	s := w.stage
	s.tb.Helper()
	rows, err := s.pool.Query(s.tb.Context(), "select id::text, updated_at from projection.call_log where system_id = $1", w.system)
	if err != nil {
		s.tb.Fatal(err)
	}
	final := map[string]time.Time{}
	var row version
	_, err = pgx.ForEachRow(rows, []any{&row.id, &row.updatedAt}, func() error {
		final[row.id] = row.updatedAt.UTC()
		if got := w.seen[row.id]; !got.Equal(row.updatedAt) {
			w.complain("report of %s: %s changed at %s and was seen as of %s; the windows went up to %s",
				w.system, row.id, row.updatedAt, got, w.from)
		}
		return nil
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, row := range w.left {
		if final[row.id].Equal(row.updatedAt) {
			w.complain("report of %s: %v was missing when its window was walked again", w.system, row)
		}
	}
	return len(final)
}
