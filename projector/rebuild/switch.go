package rebuild

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

var (
	//go:embed inherit.sql
	inheritSQL string

	//go:embed abandon.sql
	abandonSQL string
)

// swap puts a generation in the live one's place while that stands still. Readers notice nothing of it; projectors find their epochs
// past and start again from the positions.
func swap(ctx context.Context, tx pgx.Tx, from, to schema.Generation) error {
	now, err := liveGeneration(ctx, tx.Conn())
	if err != nil {
		return err
	}
	if now != from {
		return ErrBusy // and done meanwhile
	}
	if _, err := tx.Exec(ctx, abandonSQL, from.ID, to.ID); err != nil {
		return fmt.Errorf("switch: %w", err)
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf(inheritSQL, to.Schema())); err != nil {
		return fmt.Errorf("switch: %w", err)
	}
	if err := from.StepDown(ctx, tx, "previous"); err != nil {
		return err
	}
	return to.GoLive(ctx, tx)
}
