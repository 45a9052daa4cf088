package fault_test

import (
	"context"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// bookmark is a place in the middle of a report.
type bookmark struct {
	*walk
	window window
	values url.Values
}

// bookmarks reads the first page of each phone system's report, up to a second ago, and keeps the cursor.
func (c *crowd) bookmarks(ctx context.Context) (list []*bookmark) {
	tb := c.stage.tb
	tb.Helper()
	for _, system := range c.stage.feed.systems() {
		w := newWalk(c.clients, system)
		b := &bookmark{walk: w, window: window{from: w.from, until: time.Now().Add(-walkBehind).Truncate(time.Millisecond)}}
		b.window.rows = map[version]bool{}
		b.values = b.window.query(bookmarkRows)
		await(tb, "a page to go on from", func() bool {
			more, provisional := b.turn(ctx)
			return more && !provisional
		})
		list = append(list, b)
	}
	return list
}

const bookmarkRows = 10 // in a page

// turn reads a page.
func (b *bookmark) turn(ctx context.Context) (more, provisional bool) {
	page, ok := b.page(ctx, b.values)
	if !ok {
		return true, true // a complaint, or the limiter was not heard
	}
	b.window.add(page)
	b.values.Set("cursor", page.NextCursor)
	return page.HasMore, page.completeThrough.Before(b.window.until)
}

// readOn goes on from the bookmarks to the end. What belongs to a report then was in one of its pages.
func (c *crowd) readOn(ctx context.Context, list []*bookmark) {
	c.stage.tb.Helper()
	for _, b := range list {
		pages := 1
		for more := true; more; pages++ {
			more, _ = b.turn(ctx)
		}
		if pages < 3 {
			c.complain("the report of %s has %d pages, which is too few to try anything with", b.system, pages)
		}
		b.holdAgainst(c.stage)
	}
}

const belonging = "select id::text, updated_at from projection.call_log where system_id = $1 and updated_at >= $2 and updated_at < $3"

func (b *bookmark) holdAgainst(s *stage) {
	s.tb.Helper()
	rows, err := s.pool.Query(s.tb.Context(), belonging, b.system, b.window.from, b.window.until)
	if err != nil {
		s.tb.Fatal(err)
	}
	var row version
	_, err = pgx.ForEachRow(rows, []any{&row.id, &row.updatedAt}, func() error {
		if row.updatedAt = row.updatedAt.UTC(); !b.window.rows[row] {
			b.complain("report of %s from %s to %s: it is over and lacks %v", b.system, b.window.from, b.window.until, row)
		}
		return nil
	})
	if err != nil {
		s.tb.Fatal(err)
	}
}
