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
	//go:embed settled.sql
	settledSQL string

	//go:embed waits.sql
	waitsSQL string
)

const (
	// pollInterval is well below a projector's tick.
	pollInterval = 100 * time.Millisecond
	// faultInterval is how often partitions are asked about that may have stopped.
	faultInterval = 10 * pollInterval
)

// Patience is how letters are waited for.
type Patience struct {
	Limit  time.Duration
	Faults func(context.Context) (map[int]string, error) // why partitions can't go on, for each that can't
	Heard  func(done int)                                // hears how many letters are done
}

// Await waits until the letters have been tried, or all that still wait are in partitions that can't go on, and returns what became of
// each, by id. Those that still wait have what they wait for as their reason.
func Await(ctx context.Context, pool *pgxpool.Pool, ids []int64, patience Patience) ([]Result, error) {
	deadline := time.NewTimer(patience.Limit)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	w := wait{pool: pool, patience: patience, pending: slices.Clone(ids)}
	for {
		if err := w.poll(ctx); err != nil {
			return nil, err
		}
		patience.Heard(len(w.results))
		if len(w.pending) == 0 {
			return w.sorted(), nil
		}
		stuck, err := w.stuck(ctx)
		if err != nil {
			return nil, err
		}
		if stuck {
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

// wait is letters on their way from pending to a result.
type wait struct {
	pool     *pgxpool.Pool
	patience Patience
	pending  []int64
	results  []Result
	faults   map[int]string // as of asked
	asked    time.Time
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

// stuck tells whether every pending letter is in a partition that can't go on, as far as that was asked about of late.
func (w *wait) stuck(ctx context.Context) (bool, error) {
	if time.Since(w.asked) < faultInterval {
		return false, nil
	}
	var err error
	if w.faults, err = w.patience.Faults(ctx); err != nil {
		return false, fmt.Errorf("partitions: %w", err)
	}
	w.asked = time.Now()
	if len(w.faults) == 0 {
		return false, nil
	}
	list, err := w.waits(ctx)
	return !slices.ContainsFunc(list, func(p pending) bool { return w.faults[p.Partition] == "" }), err
}

// pending is a letter that waits.
type pending struct {
	ID        int64
	Partition int
	Owned     bool // by a projector
	Behind    bool // the letter's message lies above the position
}

func (w *wait) waits(ctx context.Context) (list []pending, err error) {
	rows, err := w.pool.Query(ctx, waitsSQL, w.pending)
	if err == nil {
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[pending])
	}
	if err != nil {
		return nil, fmt.Errorf("pending: %w", err)
	}
	return list, nil
}

// explained are the results, with what the pending letters wait for.
func (w *wait) explained(ctx context.Context) ([]Result, error) {
	list, err := w.waits(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		w.results = append(w.results, Result{ID: p.ID, State: Waiting, Reason: p.waitsFor(w.faults[p.Partition])})
	}
	return w.sorted(), nil
}

func (p pending) waitsFor(fault string) string {
	switch {
	case fault != "":
		return fmt.Sprintf("partition %d can't go on: %s: 'callboard status' says what to do", p.Partition, fault)
	case !p.Owned:
		return fmt.Sprintf("no projector has partition %d: start one", p.Partition)
	case p.Behind:
		return fmt.Sprintf("the projector of partition %d hasn't read so far: 'callboard status' shows its lag", p.Partition)
	}
	return fmt.Sprintf("the projector of partition %d hasn't come to it: its log says what it does", p.Partition)
}

func (w *wait) sorted() []Result {
	sortByID(w.results)
	return w.results
}
