package readapi

import (
	"context"
	"time"

	"callboard/readapi/encode"
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

// provisionalRetryAfter is when a provisional page can be final, in seconds.
const provisionalRetryAfter = 1

// walkedPage is a page and the cursor that follows it.
type walkedPage struct {
	query.ReportPage
	next       cursor
	more       bool
	retryAfter int // of a provisional page, in seconds
}

// walk reads the request's page into rows.
func (r *reports) walk(ctx context.Context, q reportRequest, rows *encode.Rows) (walkedPage, error) {
	at := q.cursor
	page, err := r.rows.Page(ctx, q.filter(at), rows)
	if err == nil && at.early && q.ended(page) {
		at = q.start()
		page, err = r.rows.Page(ctx, q.filter(at), rows)
	}
	if err == nil && q.ended(page) && !q.final(page.CompleteThrough) {
		page, err = r.awaitWatermark(ctx, q, at, page, rows)
	}
	switch {
	case err != nil:
		return walkedPage{}, err
	case q.final(page.CompleteThrough):
		return walkedPage{ReportPage: page, next: cursor{after: q.lastKey(page, at)}, more: page.More}, nil
	case q.ended(page):
		return walkedPage{ReportPage: page, next: at, more: true, retryAfter: provisionalRetryAfter}, nil
	default:
		return walkedPage{ReportPage: page, next: cursor{early: true, after: q.lastKey(page, at)}, more: page.More}, nil
	}
}

// awaitWatermark reads the page again as soon as the watermark makes it final. If that takes too long, it returns the given page, whose
// rows have stayed.
func (r *reports) awaitWatermark(
	ctx context.Context, q reportRequest, at cursor, page query.ReportPage, rows *encode.Rows,
) (query.ReportPage, error) {
	wait, cancel := context.WithTimeout(ctx, r.watermarkWait)
	defer cancel()
	err := r.watermarks.await(wait, q.system, q.until)
	switch {
	case err == nil:
		return r.rows.Page(ctx, q.filter(at), rows)
	case ctx.Err() != nil:
		return page, ctx.Err()
	case wait.Err() != nil:
		return page, nil
	}
	return page, err
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
	if page.Count > 0 {
		return page.Last
	}
	return at.after
}
