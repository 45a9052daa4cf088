package deadletter

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/audit"
)

var (
	//go:embed select.sql
	selectSQL string

	//go:embed request_retry.sql
	requestRetrySQL string

	//go:embed drop.sql
	dropSQL string
)

// Selection selects the dead letters of a retry or a drop.
type Selection struct {
	IDs    []int64 // nil: all open ones whose reason contains Reason
	Reason string
}

// Result is what has become of a dead letter.
type Result struct {
	ID              int64  `json:"id"`
	State           State  `json:"state"`
	Reason          string `json:"reason,omitempty"` // why it is a dead letter, or what a waiting one waits for
	AlreadyResolved bool   `json:"alreadyResolved"`  // before the command
}

// NotRetryableReason is why no projector will retry a dead letter.
type NotRetryableReason string

// The reasons.
const (
	NotRetryableAudit      NotRetryableReason = "audit"      // it is a message of the audit stream
	NotRetryableStream     NotRetryableReason = "stream"     // the projection is built from another stream
	NotRetryableGeneration NotRetryableReason = "generation" // it is a dead letter only in a generation that is not live
)

// Text completes a sentence such as "the dead letter is ...".
func (r NotRetryableReason) Text() string {
	switch r {
	case NotRetryableAudit:
		return "of the audit stream, whose messages are never retried"
	case NotRetryableStream:
		return "of another stream than the projection's"
	case NotRetryableGeneration:
		return "of a generation that is not live"
	}
	return string(r)
}

// NotRetryableError says that a dead letter was named that can't be retried.
type NotRetryableError struct {
	ID     int64
	Reason NotRetryableReason
}

// Error says why.
func (e *NotRetryableError) Error() string {
	return fmt.Sprintf("dead letter %d can't be retried: it is %s", e.ID, e.Reason.Text())
}

// RetryRequest is what [Retry] asked of the projectors.
type RetryRequest struct {
	Requested       []int64                    // the dead letters that wait for a retry now
	AlreadyResolved []Result                   // resolved before the command
	NotRetryable    map[NotRetryableReason]int // how many of the open ones can't be retried
}

// Retry requests a retry of dead letters and does not wait for it. If an id is unknown ([*UnknownError]) or a dead letter that is
// named can't be retried ([*NotRetryableError]), Retry requests nothing.
func Retry(ctx context.Context, pool *pgxpool.Pool, s Selection) (RetryRequest, error) {
	r := RetryRequest{NotRetryable: make(map[NotRetryableReason]int)}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		list, err := lockSelected(ctx, tx, s)
		if err != nil {
			return err
		}
		for _, l := range list {
			switch {
			case l.State.Resolved():
				r.AlreadyResolved = append(r.AlreadyResolved, Result{ID: l.ID, State: l.State, AlreadyResolved: true})
			case l.NotRetryable == "":
				r.Requested = append(r.Requested, l.ID)
			case s.IDs != nil:
				return &NotRetryableError{l.ID, l.NotRetryable}
			default:
				r.NotRetryable[l.NotRetryable]++
			}
		}
		if _, err := tx.Exec(ctx, requestRetrySQL, r.Requested); err != nil {
			return fmt.Errorf("request retry: %w", err)
		}
		return nil
	})
	return r, err
}

// Drop resolves dead letters as dropped and deletes their headers and data. If an id is unknown ([*UnknownError]), Drop drops none. A
// dead letter that was resolved before stays as it is.
func Drop(ctx context.Context, pool *pgxpool.Pool, s Selection) ([]Result, error) {
	var results []Result
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		list, err := lockSelected(ctx, tx, s)
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

// selected is a row that stays locked until the transaction ends.
type selected struct {
	ID           int64
	State        State
	Reason       string
	NotRetryable NotRetryableReason // empty: it can be retried
}

// lockSelected locks the selected rows in the order in which projectors do, to avoid deadlocks. The error is an [*UnknownError] if an
// id is unknown.
func lockSelected(ctx context.Context, tx pgx.Tx, s Selection) (list []selected, err error) {
	rows, err := tx.Query(ctx, selectSQL, s.IDs, s.Reason, audit.StreamName)
	if err == nil {
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[selected])
	}
	if err != nil {
		return nil, fmt.Errorf("select: %w", err)
	}
	found := make(map[int64]bool, len(list))
	for _, l := range list {
		found[l.ID] = true
	}
	var unknown []int64
	for _, id := range s.IDs {
		if !found[id] && !slices.Contains(unknown, id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return nil, &UnknownError{unknown}
	}
	return list, nil
}

func sortByID(list []Result) {
	slices.SortFunc(list, func(a, b Result) int { return cmp.Compare(a.ID, b.ID) })
}
