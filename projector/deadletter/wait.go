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

var (
	//go:embed resolved.sql
	resolvedSQL string

	//go:embed waiting.sql
	waitingSQL string
)

const (
	pollInterval = 100 * time.Millisecond // well below a projector's tick
	// stopInterval is how often the stream and the positions are read to find stopped partitions.
	stopInterval = 10 * pollInterval
)

// WaitOptions are the options of [Wait].
type WaitOptions struct {
	Timeout time.Duration

	// StopReasons returns why partitions are stopped, for each that is.
	StopReasons func(context.Context) (map[int]string, error)

	// OnProgress is called after every poll with the number of dead letters that were retried. It may not be nil.
	OnProgress func(done int)
}

// Wait returns what became of each dead letter, ordered by id. It waits until all were retried, until all that still wait are in stopped
// partitions, or until the timeout. The reason of a dead letter that still waits is what it waits for.
func Wait(ctx context.Context, pool *pgxpool.Pool, ids []int64, options WaitOptions) ([]Result, error) {
	deadline := time.NewTimer(options.Timeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	w := waiter{pool: pool, options: options, waiting: slices.Clone(ids)}
	for {
		if err := w.poll(ctx); err != nil {
			return nil, err
		}
		options.OnProgress(len(w.results))
		if len(w.waiting) == 0 {
			return w.sorted(), nil
		}
		stopped, err := w.allStopped(ctx)
		if err != nil {
			return nil, err
		}
		if stopped {
			return w.explained(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return w.explained(ctx)
		case <-tick.C:
		}
	}
}

// waiter moves dead letters from waiting to results.
type waiter struct {
	pool        *pgxpool.Pool
	options     WaitOptions
	waiting     []int64
	results     []Result
	stopReasons map[int]string // read at readAt
	readAt      time.Time
}

func (w *waiter) poll(ctx context.Context) error {
	var r Result
	done := make(map[int64]bool)
	rows, _ := w.pool.Query(ctx, resolvedSQL, w.waiting)
	_, err := pgx.ForEachRow(rows, []any{&r.ID, &r.State, &r.Reason}, func() error {
		done[r.ID] = true
		w.results = append(w.results, r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(id int64) bool { return done[id] })
	return nil
}

// allStopped reports whether every waiting dead letter is in a stopped partition. It reads the stop reasons at most once per
// stopInterval and returns false in between.
func (w *waiter) allStopped(ctx context.Context) (bool, error) {
	if time.Since(w.readAt) < stopInterval {
		return false, nil
	}
	var err error
	if w.stopReasons, err = w.options.StopReasons(ctx); err != nil {
		return false, fmt.Errorf("partitions: %w", err)
	}
	w.readAt = time.Now()
	if len(w.stopReasons) == 0 {
		return false, nil
	}
	list, err := w.readWaiting(ctx)
	return !slices.ContainsFunc(list, func(r waitingRow) bool { return w.stopReasons[r.Partition] == "" }), err
}

type waitingRow struct {
	ID            int64
	Partition     int
	Owned         bool // by a projector
	AbovePosition bool // the partition's position is below the retry's sequence
}

const positionsSQL = `
	select coalesce(array_agg(partition), '{}'), coalesce(array_agg(sequence), '{}')
	from projection.position`

func (w *waiter) readWaiting(ctx context.Context) (list []waitingRow, err error) {
	var partitions []int16
	var positions []int64
	if err := w.pool.QueryRow(ctx, positionsSQL).Scan(&partitions, &positions); err != nil {
		return nil, fmt.Errorf("positions: %w", err)
	}
	rows, _ := w.pool.Query(ctx, waitingSQL, w.waiting, partitions, positions)
	list, err = pgx.CollectRows(rows, pgx.RowToStructByName[waitingRow])
	if err != nil {
		return nil, fmt.Errorf("waiting dead letters: %w", err)
	}
	return list, nil
}

// explained returns the results, with a reason for each dead letter that still waits.
func (w *waiter) explained(ctx context.Context) ([]Result, error) {
	list, err := w.readWaiting(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		w.results = append(w.results, Result{ID: r.ID, State: Waiting, Reason: r.explain(w.stopReasons[r.Partition])})
	}
	return w.sorted(), nil
}

func (r waitingRow) explain(stopReason string) string {
	switch {
	case stopReason != "":
		return fmt.Sprintf("partition %d is stopped: %s: run 'callboard status' to see what to do", r.Partition, stopReason)
	case !r.Owned:
		return fmt.Sprintf("partition %d has no owner: start a projector", r.Partition)
	case r.AbovePosition:
		return fmt.Sprintf("the projector has not reached the retry in partition %d: run 'callboard status' to see the lag", r.Partition)
	}
	return fmt.Sprintf("partition %d has passed the retry without a decision: retry it again", r.Partition)
}

func (w *waiter) sorted() []Result {
	sortByID(w.results)
	return w.results
}
