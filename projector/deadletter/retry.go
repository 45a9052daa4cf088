package deadletter

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed request.sql
var requestSQL string

// Request is what was asked of the projectors.
type Request struct {
	Asked   []int64          // the letters that wait now
	Settled []Result         // those that were settled before
	Left    map[Obstacle]int // how many of all open ones nobody can retry
}

// Retry asks for letters to be tried again and doesn't wait for it. Where an id is unknown ([*UnknownError]) or a letter that is named
// can't be retried ([*ObstacleError]), nothing is asked for.
func Retry(ctx context.Context, pool *pgxpool.Pool, c Choice) (Request, error) {
	r := Request{Left: make(map[Obstacle]int)}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		list, err := choose(ctx, tx, c)
		if err != nil {
			return err
		}
		for _, l := range list {
			switch {
			case l.State.Settled():
				r.Settled = append(r.Settled, Result{ID: l.ID, State: l.State, Untouched: true})
			case l.Obstacle == "":
				r.Asked = append(r.Asked, l.ID)
			case c.IDs != nil:
				return &ObstacleError{l.ID, l.Obstacle}
			default:
				r.Left[l.Obstacle]++
			}
		}
		if _, err := tx.Exec(ctx, requestSQL, r.Asked); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		return nil
	})
	return r, err
}
