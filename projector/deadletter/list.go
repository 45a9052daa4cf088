package deadletter

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed list.sql
	listSQL string

	//go:embed reasons.sql
	reasonsSQL string
)

// Query is which letters to list.
type Query struct {
	Settled bool   // those too
	Reason  string // what the reason holds; empty: any
	Limit   int
}

// Page is the oldest letters of a query, and what is open among all of them.
type Page struct {
	Letters []Letter `json:"letters"`
	More    bool     `json:"more"` // than are listed
	Open    int64    `json:"open"` // those that wait for a retry included
	Waiting int64    `json:"waiting"`
	Kinds   []Kind   `json:"kinds"` // of the open ones, the most frequent first
}

// List lists letters, the oldest first.
func List(ctx context.Context, pool *pgxpool.Pool, q Query) (Page, error) {
	var page Page
	rows, err := pool.Query(ctx, listSQL, q.Settled, q.Reason, q.Limit+1)
	if err == nil {
		page.Letters, err = pgx.CollectRows(rows, pgx.RowToStructByName[Letter])
	}
	if err != nil {
		return page, fmt.Errorf("dead letters: %w", err)
	}
	if page.More = len(page.Letters) > q.Limit; page.More {
		page.Letters = page.Letters[:q.Limit]
	}
	return page, page.count(ctx, pool, q.Reason)
}

func (p *Page) count(ctx context.Context, pool *pgxpool.Pool, part string) error {
	var reason string
	var open, waiting int64
	kinds := make(map[string]int64)
	rows, err := pool.Query(ctx, reasonsSQL, part)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&reason, &open, &waiting}, func() error {
			p.Open += open
			p.Waiting += waiting
			kinds[kindOf(reason)] += open
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("reasons: %w", err)
	}
	p.Kinds = byFrequency(kinds)
	return nil
}
