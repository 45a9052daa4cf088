package letters

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/projector"
)

var (
	//go:embed settled.sql
	settledSQL string

	//go:embed waits.sql
	waitsSQL string
)

// pollInterval is well below a projector's tick.
const pollInterval = 100 * time.Millisecond

// Await waits until the letters have been tried, patience at most, and returns what became of each, by id. Those that still wait
// have what they wait for as their reason. heard hears how many are done.
func Await(ctx context.Context, pool *pgxpool.Pool, ids []int64, patience time.Duration, heard func(done int)) ([]Result, error) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	w := wait{pool: pool, pending: slices.Clone(ids)}
	for {
		if err := w.poll(ctx); err != nil {
			return nil, err
		}
		heard(len(w.results))
		if len(w.pending) == 0 {
			return w.sorted(), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			if err := w.explain(ctx); err != nil {
				return nil, err
			}
			return w.sorted(), nil
		case <-tick.C:
		}
	}
}

// wait is letters on their way from pending to a result.
type wait struct {
	pool    *pgxpool.Pool
	pending []int64
	results []Result
}

func (w *wait) poll(ctx context.Context) error {
	var r Result
	settled := make(map[int64]bool)
	rows, err := w.pool.Query(ctx, settledSQL, w.pending)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&r.ID, &r.State, &r.Reason}, func() error {
			settled[r.ID] = true
			w.results = append(w.results, r)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	w.pending = slices.DeleteFunc(w.pending, func(id int64) bool { return settled[id] })
	return nil
}

// explain says of the pending letters what they wait for.
func (w *wait) explain(ctx context.Context) error {
	var id int64
	var partition int
	var owned, behind bool
	rows, err := w.pool.Query(ctx, waitsSQL, w.pending, projector.LockClass)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &partition, &owned, &behind}, func() error {
			w.results = append(w.results, Result{ID: id, State: Waiting, Reason: waitsFor(partition, owned, behind)})
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("pending: %w", err)
	}
	return nil
}

func waitsFor(partition int, owned, behind bool) string {
	switch {
	case !owned:
		return fmt.Sprintf("no projector has partition %d: start one", partition)
	case behind:
		return fmt.Sprintf("the projector of partition %d hasn't read so far: 'callboard status' shows its lag", partition)
	}
	return fmt.Sprintf("the projector of partition %d hasn't come to it: its log says what it does", partition)
}

func (w *wait) sorted() []Result {
	sortByID(w.results)
	return w.results
}
