package main

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/setting"
	"callboard/projector/rebuild"
)

// dropping gives up generations that aren't served.
type dropping struct {
	out    io.Writer
	output output
	none   string // what is said where there is none
}

// givenUp is what there is no more.
type givenUp struct {
	Dropped []int64 `json:"dropped"` // generations, the newest first
}

func (d dropping) run(ctx context.Context, postgres setting.Postgres, drop func(rebuild.Config) ([]int64, error)) error {
	gone := givenUp{Dropped: []int64{}}
	err := withDatabase(ctx, postgres, func(pool *pgxpool.Pool) error {
		generations, err := drop(rebuild.Config{Database: pool})
		gone.Dropped = append(gone.Dropped, generations...)
		return err
	})
	if err != nil {
		return err
	}
	return d.output.print(d.out, gone, func(w io.Writer) error {
		if len(gone.Dropped) == 0 {
			return writeLines(w, []string{d.none})
		}
		return writeLines(w, droppedLines(gone.Dropped))
	})
}
