package rebuild

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

var (
	//go:embed stop_watermarks.sql
	stopWatermarksSQL string

	//go:embed raise_clocks.sql
	raiseClocksSQL string
)

const (
	releaseWatermarksSQL = "update control.stream set last_watermark = null where last_watermark is not null"
	otherUnfinishedSQL   = "select exists (select from control.generation where state = 'building' and id <> $1)"
)

// releaseWatermarks lets the watermarks of the live generation move again when a generation is dropped, unless another
// one is unfinished: its rows are later than the highest watermark only while that does not move.
func releaseWatermarks(ctx context.Context, tx pgx.Tx, dropped schema.Generation) error {
	var unfinished bool
	err := tx.QueryRow(ctx, otherUnfinishedSQL, dropped.ID).Scan(&unfinished)
	if err == nil && !unfinished {
		_, err = tx.Exec(ctx, releaseWatermarksSQL)
	}
	if err != nil {
		return fmt.Errorf("release watermarks: %w", err)
	}
	return nil
}

// beginHistory makes all rows of the new generation later than everything that readers were told is complete: no
// watermark of the live generation passes the highest one from now on, and no partition's clock of the stream that is
// read begins before it. So a client that walks by updatedAt reads every row again. No commit is under way meanwhile.
func (b *builder) beginHistory(ctx context.Context, tx pgx.Tx) error {
	if err := beginWritePause(ctx, tx); err != nil {
		return err
	}

	stream := b.source.ID
	if _, err := tx.Exec(ctx, stopWatermarksSQL, stream); err != nil {
		return fmt.Errorf("stop watermarks: %w", err)
	}
	if _, err := tx.Exec(ctx, raiseClocksSQL, stream, b.source.partitions); err != nil {
		return fmt.Errorf("raise clocks: %w", err)
	}
	return nil
}
