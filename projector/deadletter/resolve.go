package deadletter

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed select.sql
	selectSQL string

	//go:embed drop.sql
	dropSQL string
)

// Selection selects the dead letters of a retry or a drop.
type Selection struct {
	IDs []int64 // nil: all open ones
}

// Result is what has become of a dead letter.
type Result struct {
	ID              int64  `json:"id"`
	State           State  `json:"state"`
	Reason          string `json:"reason,omitempty"` // why it is a dead letter, or what a waiting one waits for
	AlreadyResolved bool   `json:"alreadyResolved"`  // before the command
}

// Drop resolves dead letters as dropped and deletes their headers and data. If an id is unknown ([*UnknownError]),
// Drop drops none. A dead letter that was resolved before stays as it is.
func Drop(ctx context.Context, pool *pgxpool.Pool, s Selection) ([]Result, error) {
	var results []Result
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select control.commit_durably()"); err != nil {
			return fmt.Errorf("drop: %w", err)
		}

		// The rows stay locked until the commit, so that no retry resolves them meanwhile.
		list, err := find(ctx, tx, s, selectSQL+forUpdate)
		if err != nil {
			return err
		}

		var ids []int64
		for _, l := range list {
			if l.State.Resolved() {
				results = append(results, Result{ID: l.ID, State: l.State, AlreadyResolved: true})
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

// selected is a row of select.sql.
type selected struct {
	ID           int64
	State        State
	Reason       string
	NotRetryable NotRetryableReason // empty: it can be retried
}

// forUpdate locks the selected rows until the transaction ends, in the order in which projectors do, to avoid
// deadlocks.
const forUpdate = "for update of d"

// find executes select.sql. The error is an [*UnknownError] if an id is unknown.
func find(ctx context.Context, db interface {
	Query(ctx context.Context, query string, parameters ...any) (pgx.Rows, error)
}, s Selection, query string) (list []selected, err error) {
	rows, _ := db.Query(ctx, query, s.IDs)
	list, err = pgx.CollectRows(rows, pgx.RowToStructByName[selected])
	if err != nil {
		return nil, fmt.Errorf("select: %w", err)
	}

	// Every id that was asked for must be there.
	unknown := slices.DeleteFunc(slices.Clone(s.IDs), func(id int64) bool {
		return slices.ContainsFunc(list, func(l selected) bool { return l.ID == id })
	})
	slices.Sort(unknown)
	if unknown = slices.Compact(unknown); len(unknown) > 0 {
		return nil, &UnknownError{unknown}
	}
	return list, nil
}

func sortByID(list []Result) {
	slices.SortFunc(list, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
}
