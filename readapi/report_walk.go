package readapi

import (
	"context"
	"time"

	"callboard/readapi/query"
)

// A walk through a window must see every row that the window will ever have. While the watermark is behind the window's end,
// rows can still appear behind a cursor that has gone on: by createdAt anywhere, by updatedAt at equal milliseconds. So:
//
//   - Watermark at or past the end: the page is final, and its cursor goes on.
//   - The end has come, the watermark has not: the page waits a moment for it. In vain: it is provisional. It has rows, but its
//     cursor stays where the request came from, so that the walk goes on only once it can't miss anything.
//   - The end is yet to come: the page is served as it stands. Its cursor goes on and is marked early; handed in after the end
//     has come, it begins the window anew.
//
// Rows can repeat, none is missed.

// watermarkEvery is how often a page that waits for the watermark looks.
const watermarkEvery = 25 * time.Millisecond

// walked is a page with where the walk stands behind it.
type walked struct {
	query.ReportPage
	next cursor
	more bool
}

// walk takes a walk's next step.
func (r *reports) walk(ctx context.Context, q reportRequest) (walked, error) {
	at := q.at
	page, err := r.rows.Page(ctx, q.filter(at))
	if err == nil && at.early && q.ended(page) {
		at = q.start()
		page, err = r.rows.Page(ctx, q.filter(at))
	}
	if err == nil && q.ended(page) && !q.final(page.CompleteThrough) {
		page, err = r.again(ctx, q, at, page)
	}
	switch {
	case err != nil:
		return walked{}, err
	case q.final(page.CompleteThrough):
		return walked{page, cursor{after: q.behind(page, at)}, page.More}, nil
	case q.ended(page):
		return walked{page, at, true}, nil
	default:
		return walked{page, cursor{early: true, after: q.behind(page, at)}, page.More}, nil
	}
}

// again is the page once the watermark is final, and the page as it was where that takes too long.
func (r *reports) again(ctx context.Context, q reportRequest, at cursor, page query.ReportPage) (query.ReportPage, error) {
	enough, look := time.NewTimer(r.wait), time.NewTicker(watermarkEvery)
	defer enough.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return page, ctx.Err()
		case <-enough.C:
			return page, nil
		case <-look.C:
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

// final reports whether nothing can be added to the window any more, or nothing ever could.
func (q reportRequest) final(watermark time.Time) bool {
	return !watermark.Before(q.until) || !q.from.Before(q.until)
}

// ended reports whether the window's end has come, by whichever clock is ahead: the reader's, the database's or the stream's.
func (q reportRequest) ended(page query.ReportPage) bool {
	return !q.until.After(time.Now()) || !q.until.After(page.Now) || q.final(page.CompleteThrough)
}

// behind is the place behind a page that was read from a cursor on.
func (q reportRequest) behind(page query.ReportPage, at cursor) query.Position {
	if n := len(page.Rows); n > 0 {
		return page.Rows[n-1].Position(q.field)
	}
	return at.after
}
