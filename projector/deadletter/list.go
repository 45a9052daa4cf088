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

	//go:embed newest.sql
	newestSQL string
)

// Query selects the dead letters of a list.
type Query struct {
	Resolved bool // list resolved ones too
	Limit    int
}

// Page holds the oldest dead letters of a query, and counts of all open ones.
type Page struct {
	DeadLetters []DeadLetter  `json:"deadLetters"`
	More        bool          `json:"more"`    // the limit cut the list
	Open        int64         `json:"open"`    // those waiting for a retry included
	Waiting     int64         `json:"waiting"` // for a retry
	Reasons     []ReasonCount `json:"reasons"` // of the open ones, the most frequent first
}

// ReasonCount counts the open dead letters whose reasons differ in details only.
type ReasonCount struct {
	Reason  string `json:"reason"`
	Count   int64  `json:"count"`
	Waiting int64  `json:"-"`
}

// List lists dead letters, the oldest first.
func List(ctx context.Context, pool *pgxpool.Pool, q Query) (page Page, err error) {
	rows, _ := pool.Query(ctx, listSQL, q.Resolved, q.Limit+1)
	page.DeadLetters, err = pgx.CollectRows(rows, pgx.RowToStructByName[DeadLetter])
	if err != nil {
		return page, fmt.Errorf("dead letters: %w", err)
	}

	// The query reads one dead letter above the limit, which tells that there are more.
	if page.More = len(page.DeadLetters) > q.Limit; page.More {
		page.DeadLetters = page.DeadLetters[:q.Limit]
	}

	rows, _ = pool.Query(ctx, reasonsSQL)
	page.Reasons, err = pgx.CollectRows(rows, pgx.RowToStructByName[ReasonCount])
	if err != nil {
		return page, fmt.Errorf("reasons: %w", err)
	}

	for _, c := range page.Reasons {
		page.Open += c.Count
		page.Waiting += c.Waiting
	}
	return page, nil
}

// Newest returns the newest open dead letters, at most limit, with the beginnings of their texts. However many dead
// letters there are, it reads no more.
func Newest(ctx context.Context, pool *pgxpool.Pool, limit int) ([]DeadLetter, error) {
	rows, _ := pool.Query(ctx, newestSQL, limit)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[DeadLetter])
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return list, nil
}
