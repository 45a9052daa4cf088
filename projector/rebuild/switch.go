package rebuild

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

//go:embed inherit.sql
var inheritSQL string

// swap puts a generation in the live one's place while that stands still. Readers notice nothing of it; projectors find their epochs
// past and start again from the positions.
func swap(ctx context.Context, tx pgx.Tx, from, to schema.Generation) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(inheritSQL, to.Schema())); err != nil {
		return fmt.Errorf("switch: %w", err)
	}
	if err := from.StepDown(ctx, tx, "kept"); err != nil {
		return err
	}
	return to.GoLive(ctx, tx)
}
