package status

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed generations.sql
var generationsSQL string

// Generation is one building of the projection that wasn't dropped.
type Generation struct {
	ID         int64      `json:"id"`
	State      string     `json:"state"` // building, live, kept
	StartedAt  time.Time  `json:"startedAt"`
	SwitchedAt *time.Time `json:"switchedAt"` // when it went live last
	Current    bool       `json:"current"`    // it is what this release builds
	PartsDone  int64      `json:"partsDone"`
	Parts      int64      `json:"parts"` // in which it is, or was, filled; 0 where the live events filled it
}

// States of a generation.
const (
	Building = "building"
	Live     = "live"
)

// Generations are those that weren't dropped, the newest first. A definition is that of a projection of this release.
func Generations(ctx context.Context, pool *pgxpool.Pool, definition []byte) ([]Generation, error) {
	rows, err := pool.Query(ctx, generationsSQL, definition)
	if err != nil {
		return nil, fmt.Errorf("generations: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Generation])
	if err != nil {
		return nil, fmt.Errorf("generations: %w", err)
	}
	return list, nil
}

// live is the generation that is served, nil where there is none.
func live(list []Generation) *Generation {
	for i := range list {
		if list[i].State == Live {
			return &list[i]
		}
	}
	return nil
}
