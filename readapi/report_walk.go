package readapi

import (
	"context"
	"time"

	"callboard/readapi/query"
)

// A walk must see every row that its window will ever have. While the watermark is before the window's end, rows can still appear
// before the cursor: by createdAt anywhere, by updatedAt at equal milliseconds. Therefore a page is one of three:
//
//   - Final: the watermark has reached the window's end. The page's cursor advances.
//   - Provisional: the window's end has passed, but the watermark has not reached it, even after a short wait. The page has rows,
//     but its cursor stays at that of the request. The walk advances only when it can't miss a row.
//   - Early: the window's end is in the future. The page's cursor advances and is marked early. Used after the window's end, an
//     early cursor starts the window again.
//
// Rows can repeat, but none is missed.

// watermarkInterval is how often a page that waits for the watermark reads it.
const watermarkInterval = 25 * time.Millisecond

// walkedPage is a page and the cursor that follows it.
type walkedPage struct {
	query.ReportPage
	next cursor
	more bool
}

// walk reads the request's page.
func (r *reports) walk(ctx context.Context, q reportRequest) (walkedPage, error) {
	at := q.cursor
	page, err := r.rows.Page(ctx, q.filter(at))
	if err == nil && at.early && q.ended(page) {
		at = q.start()
		page, err = r.rows.Page(ctx, q.filter(at))
	}
	if err == nil && q.ended(page) && !q.final(page.CompleteThrough) {
		page, err = r.awaitWatermark(ctx, q, at, page)
	}
	switch {
	case err != nil:
		return walkedPage{}, err
	case q.final(page.CompleteThrough):
		return walkedPage{page, cursor{after: q.lastKey(page, at)}, page.More}, nil
	case q.ended(page):
		return walkedPage{page, at, true}, nil
	default:
		return walkedPage{page, cursor{early: true, after: q.lastKey(page, at)}, page.More}, nil
	}
}

// awaitWatermark reads the page again as soon as the watermark makes it final. If that takes too long, it returns the given page.
func (r *reports) awaitWatermark(ctx context.Context, q reportRequest, at cursor, page query.ReportPage) (query.ReportPage, error) {
	timeout, tick := time.NewTimer(r.watermarkWait), time.NewTicker(watermarkInterval)
	defer timeout.Stop()
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return page, ctx.Err()
		case <-timeout.C:
			return page, nil
		case <-tick.C:
		}
		watermark, err := r.rows.Watermark(ctx, q.system)
		if err != nil {
			return page, err
		}
		if q.final(watermark) {
			return r.rows.Page(ctx, q.filter(at))
		}
	}
}

// final reports whether no row can be added to the window. An empty window is always final.
func (q reportRequest) final(watermark time.Time) bool {
	return !watermark.Before(q.until) || !q.from.Before(q.until)
}

// ended reports whether the window's end has passed, by the reader's, the database's or the stream's clock.
func (q reportRequest) ended(page query.ReportPage) bool {
	return !q.until.After(time.Now()) || !q.until.After(page.Now) || q.final(page.CompleteThrough)
}

// lastKey is the key of the page's last row. A page without rows has the cursor's.
func (q reportRequest) lastKey(page query.ReportPage, at cursor) query.ReportKey {
	if n := len(page.Rows); n > 0 {
		return page.Rows[n-1].Key(q.field)
	}
	return at.after
}
