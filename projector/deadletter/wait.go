package deadletter

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed resolved.sql
var resolvedSQL string

// pollInterval is well below a projector's tick.
const pollInterval = 100 * time.Millisecond

// Wait waits until dead letters that were published again are decided, or for a timeout, and returns what became of
// each, ordered by id. It calls onProgress after every look with the number of decided ones.
func Wait(
	ctx context.Context, pool *pgxpool.Pool, ids []int64, timeout time.Duration, onProgress func(done int),
) (results []Result, err error) {
	waiting := slices.Clone(ids)
	defer func() { sortByID(results) }()
	for deadline := time.After(timeout); ; {
		// What is decided leaves the ids.
		rows, _ := pool.Query(ctx, resolvedSQL, waiting)
		decided, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Result, err error) {
			err = row.Scan(&r.ID, &r.State, &r.Reason)
			return r, err
		})
		if err != nil {
			return nil, fmt.Errorf("results: %w", err)
		}
		results = append(results, decided...)
		waiting = slices.DeleteFunc(waiting, func(id int64) bool {
			return slices.ContainsFunc(decided, func(r Result) bool { return r.ID == id })
		})
		onProgress(len(results))
		if len(waiting) == 0 {
			return results, nil
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline:
			for _, id := range waiting {
				results = append(results, Result{ID: id, State: Waiting, Reason: "no projector has decided the retry: run 'callboard status'"})
			}
			return results, nil
		case <-time.After(pollInterval):
		}
	}
}
