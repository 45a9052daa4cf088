package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Generation is one building of the projection. The live one is in the schema "projection", every other in one of its own.
type Generation struct {
	ID int64
}

// Schema is where the generation is while it is not live.
func (g Generation) Schema() string { return fmt.Sprintf("generation_%d", g.ID) }

// NewGeneration begins a generation of this release: empty tables with their indexes, in a schema beside the live one.
func NewGeneration(ctx context.Context, tx pgx.Tx) (Generation, error) {
	var g Generation
	err := tx.QueryRow(ctx, "insert into control.generation (definition) values ($1) returning id", Definition()).Scan(&g.ID)
	if err != nil {
		return g, fmt.Errorf("generation: %w", err)
	}
	steps := []string{
		"create schema " + g.Schema(),
		"set local search_path to " + g.Schema(),
		projectionDDL(),
		fmt.Sprintf("insert into generation values (%d, '\\x%x')", g.ID, Definition()),
		fmt.Sprintf(projectionGrantsSQL, g.Schema()),
	}
	return g, execute(ctx, tx, steps)
}

// GoLive makes a generation the live one where there is none.
func (g Generation) GoLive(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		fmt.Sprintf("alter schema %s rename to projection", g.Schema()),
		fmt.Sprintf("update control.generation set state = 'live', switched_at = now() where id = %d", g.ID),
	})
}

// StepDown takes the live generation away. Its state is then kept, or whatever else is to come of it.
func (g Generation) StepDown(ctx context.Context, tx pgx.Tx, state string) error {
	return execute(ctx, tx, []string{
		"alter schema projection rename to " + g.Schema(),
		fmt.Sprintf("update control.generation set state = '%s' where id = %d", state, g.ID),
	})
}

// Drop removes a generation that isn't live, with the dead letters that only it knows of.
func (g Generation) Drop(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		fmt.Sprintf("drop schema if exists %s cascade", g.Schema()),
		fmt.Sprintf("delete from control.generation_part where generation = %d", g.ID),
		fmt.Sprintf("delete from control.dead_letter d where generation = %d and exists (select from control.generation where id = d.generation and switched_at is null)", g.ID),
		fmt.Sprintf("update control.generation set state = 'dropped' where id = %d", g.ID),
	})
}

func execute(ctx context.Context, tx pgx.Tx, steps []string) error {
	for _, step := range steps {
		if _, err := tx.Exec(ctx, step); err != nil {
			return fmt.Errorf("generation: %w", err)
		}
	}
	return nil
}
