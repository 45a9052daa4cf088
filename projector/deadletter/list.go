package deadletter

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
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
	Resolved bool   // list resolved ones too
	Reason   string // a text that the reason contains; empty: any reason
	Limit    int
}

// Page holds the oldest dead letters of a query, and counts of all open ones whose reason matches.
type Page struct {
	DeadLetters []DeadLetter  `json:"deadLetters"`
	More        bool          `json:"more"`    // the limit cut the list
	Open        int64         `json:"open"`    // those waiting for a retry included
	Waiting     int64         `json:"waiting"` // for a retry
	Reasons     []ReasonCount `json:"reasons"` // of the open ones, the most frequent first
}

// ReasonCount counts the open dead letters whose reasons differ in details only.
type ReasonCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// List lists dead letters, the oldest first.
func List(ctx context.Context, pool *pgxpool.Pool, q Query) (page Page, err error) {
	rows, _ := pool.Query(ctx, listSQL, q.Resolved, q.Reason, q.Limit+1)
	page.DeadLetters, err = pgx.CollectRows(rows, pgx.RowToStructByName[DeadLetter])
	if err != nil {
		return page, fmt.Errorf("dead letters: %w", err)
	}
	if page.More = len(page.DeadLetters) > q.Limit; page.More {
		page.DeadLetters = page.DeadLetters[:q.Limit]
	}

	var reason string
	var open, waiting int64
	counts := make(map[string]int64)
	rows, _ = pool.Query(ctx, reasonsSQL, q.Reason)
	_, err = pgx.ForEachRow(rows, []any{&reason, &open, &waiting}, func() error {
		page.Open += open
		page.Waiting += waiting
		counts[summarize(reason)] += open
		return nil
	})
	if err != nil {
		return page, fmt.Errorf("reasons: %w", err)
	}
	page.Reasons = byFrequency(counts)
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

const notJSON = "not JSON: "

// summarize returns the first problem of a reason without the details in which similar reasons differ. These are array indexes, ids, errors
// of other programs, and the place at which a body stops being JSON.
func summarize(reason string) string {
	first, _, _ := strings.Cut(reason, "; ")
	where, what, found := strings.Cut(first, ": ")
	switch {
	case !found, strings.HasPrefix(where, "audit "):
		return first
	case strings.HasPrefix(first, notJSON), strings.HasPrefix(what, notJSON):
		return strings.TrimSuffix(notJSON, ": ")
	}
	what, _, _ = strings.Cut(what, ": ")
	return withoutIndexes(withoutID(where)) + ": " + what
}

// withoutIndexes replaces the array indexes of a JSON pointer by asterisks.
func withoutIndexes(pointer string) string {
	names := strings.Split(pointer, "/")
	for i, name := range names {
		if name != "" && strings.Trim(name, "0123456789") == "" {
			names[i] = "*"
		}
	}
	return strings.Join(names, "/")
}

// withoutID removes the id of an audit entry.
func withoutID(where string) string {
	name, id, _ := strings.Cut(where, " ")
	if _, err := uuid.Parse(id); err != nil {
		return where
	}
	return name
}

func byFrequency(counts map[string]int64) []ReasonCount {
	list := make([]ReasonCount, 0, len(counts))
	for reason, count := range counts {
		list = append(list, ReasonCount{reason, count})
	}
	slices.SortFunc(list, func(a, b ReasonCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}
