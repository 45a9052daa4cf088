package readapi

import (
	"context"
	"time"

	"callboard/readapi/query"
)

// A walk must see every row that its window will ever have. While the watermark is before the window's end, rows can
// still appear before the cursor: by createdAt anywhere, by updatedAt at equal milliseconds. A watermark that is ahead
// of the clocks says nothing about the time between: a server's clock jumped, and rows of now can still get times
// before it. Therefore a page is one of three:
//
//   - Final: the watermark has reached the window's end, which has passed by the reader's and by the database's clock.
//     The page's cursor advances.
//   - Provisional: the window's end has passed by one of the clocks, but the page is not final, even after a short
//     wait. The page has rows, but its cursor stays at that of the request. The walk advances only when it can't miss a
//     row.
//   - Early: the window's end is in the future. The page's cursor advances and is marked early. Used on a page that is
//     not early any more, it starts the window again. Before that, the walk does not end: there is always more to come.
//
// Rows can repeat, but none is missed.

// pageState is which of the three a page is.
type pageState int

const (
	early pageState = iota
	provisional
	final
)

// walkRetryAfter is when a page that has nothing new for its walk is to be read again, in seconds.
const walkRetryAfter = 1

// walkedPage is a page and the cursor that follows it.
type walkedPage struct {
	query.ReportPage
	next       cursor
	more       bool
	retryAfter int // in seconds; 0: at once
}

// walk reads the page that w requests into the reply.
func (r *reports) walk(ctx context.Context, q *request, w reportRequest, out *reply) (walkedPage, error) {
	// After the window's end, an early cursor starts again, because rows can have appeared before the cursor.
	at := w.cursor
	page, state, err := r.read(ctx, q, w, at, out)
	if err == nil && at.early && state != early {
		at = w.start()
		page, state, err = r.read(ctx, q, w, at, out)
	}

	// A page that waits for the watermark has no memory, no connection and no rows: it is read again.
	if wait := r.waitFor(ctx); err == nil && state == provisional && wait > 0 {
		q.service.release(q.exchange, out)
		waiting, cancel := context.WithTimeout(ctx, wait)
		r.watermarks.await(waiting, r.projection.Partition(w.system), w.until)
		cancel()

		if err = q.reserve(ctx, out); err == nil {
			page, state, err = r.read(ctx, q, w, at, out)
		}
	}
	if err != nil {
		return walkedPage{}, err
	}

	switch state {
	case final:
		return walkedPage{ReportPage: page, next: cursor{after: w.lastKey(page, at)}, more: page.More}, nil
	case provisional:
		return walkedPage{ReportPage: page, next: at, more: true, retryAfter: walkRetryAfter}, nil

	// The window has not ended, so there is always more to come.
	default:
		walked := walkedPage{ReportPage: page, next: cursor{early: true, after: w.lastKey(page, at)}, more: true}
		if !page.More {
			walked.retryAfter = walkRetryAfter
		}
		return walked, nil
	}
}

// read reads the page after a cursor.
func (r *reports) read(
	ctx context.Context, q *request, w reportRequest, at cursor, out *reply,
) (query.ReportPage, pageState, error) {
	layout := r.row
	if w.transcripts {
		layout = r.transcribed
	}
	rows := q.rows(layout, append(out.body[:0], `{"data":[`...))
	page, err := r.rows.Page(ctx, w.filter(at), rows)
	out.body, out.leftOut = rows.Body, rows.LeftOut
	return page, w.stateOf(page, r.now()), err
}

// waitFor is how long a provisional page can wait. It leaves two fifths of the request's time for memory and for the
// page.
func (r *reports) waitFor(ctx context.Context) time.Duration {
	wait := r.watermarkWait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)-r.timeout*2/5)
	}
	return wait
}

// stateOf returns the state of a page that was read at an instant of the reader's clock. No row is ever added to an
// empty window.
func (q reportRequest) stateOf(page query.ReportPage, now time.Time) pageState {
	switch {
	case !q.from.Before(q.until):
		return final
	case q.until.After(now) && q.until.After(page.Now):
		return early
	case q.until.After(now), q.until.After(page.Now), q.until.After(page.CompleteThrough):
		return provisional
	default:
		return final
	}
}

// lastKey is the key of the page's last row. A page without rows has the cursor's.
func (q reportRequest) lastKey(page query.ReportPage, at cursor) query.ReportKey {
	if page.Count > 0 {
		return page.Last
	}
	return at.after
}
