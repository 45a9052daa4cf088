package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Generation is one build of the projection. The live one is in the schema "projection", every other one in its own schema.
type Generation struct {
	ID int64
}

// Schema returns the name of the generation's schema while it is not live.
func (g Generation) Schema() string { return fmt.Sprintf("generation_%d", g.ID) }

// NewGeneration creates a generation with this release's definition: empty tables and their indexes.
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

// MakeLive makes the generation the live one. There must be no live generation.
func (g Generation) MakeLive(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		fmt.Sprintf("alter schema %s rename to projection", g.Schema()),
		fmt.Sprintf("update control.generation set state = 'live', switched_at = now() where id = %d", g.ID),
	})
}

// MakePrevious makes the live generation the previous one, for a rollback.
func (g Generation) MakePrevious(ctx context.Context, tx pgx.Tx) error {
	return execute(ctx, tx, []string{
		"alter schema projection rename to " + g.Schema(),
		fmt.Sprintf("update control.generation set state = 'previous' where id = %d", g.ID),
	})
}

// Drop drops a generation that is not live. If it never was, its dead letters are dropped too: no other generation knows them.
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
