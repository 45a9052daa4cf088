package deadletter

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed drop.sql
var dropSQL string

// Drop settles letters for good and forgets what was in them. Where an id is unknown ([*UnknownError]) none is dropped; a letter that
// was settled before is left as it is.
func Drop(ctx context.Context, pool *pgxpool.Pool, c Choice) ([]Result, error) {
	var results []Result
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		list, err := choose(ctx, tx, c)
		if err != nil {
			return err
		}
		var ids []int64
		for _, l := range list {
			if l.State.Settled() {
				results = append(results, Result{ID: l.ID, State: l.State, Untouched: true})
				continue
			}
			ids = append(ids, l.ID)
			results = append(results, Result{ID: l.ID, State: Dropped, Reason: l.Reason})
		}
		if _, err := tx.Exec(ctx, dropSQL, ids); err != nil {
			return fmt.Errorf("drop: %w", err)
		}
		return nil
	})
	sortByID(results)
	return results, err
}
