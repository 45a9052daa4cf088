package deadletter

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"callboard/events/audit"
)

//go:embed choose.sql
var chooseSQL string

// Choice is the letters that something is done with.
type Choice struct {
	IDs    []int64 // nil: all open ones whose reason holds Reason
	Reason string
}

// chosen is a letter that stays locked until the transaction ends.
type chosen struct {
	ID       int64
	State    State
	Reason   string
	Obstacle Obstacle // empty: none
}

// choose locks the letters of a choice, in the order in which projectors do. The error is an [*UnknownError] where an id is no letter's.
func choose(ctx context.Context, tx pgx.Tx, c Choice) (list []chosen, err error) {
	rows, err := tx.Query(ctx, chooseSQL, c.IDs, c.Reason, audit.StreamName)
	if err == nil {
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[chosen])
	}
	if err != nil {
		return nil, fmt.Errorf("choose: %w", err)
	}
	if unknown := missing(c.IDs, list); len(unknown) > 0 {
		return nil, &UnknownError{unknown}
	}
	return list, nil
}

func missing(ids []int64, list []chosen) (unknown []int64) {
	found := make(map[int64]bool, len(list))
	for _, l := range list {
		found[l.ID] = true
	}
	for _, id := range ids {
		if !found[id] && !slices.Contains(unknown, id) {
			unknown = append(unknown, id)
		}
	}
	return unknown
}
