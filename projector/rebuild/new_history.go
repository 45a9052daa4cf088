package rebuild

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
)

var (
	//go:embed stop_watermarks.sql
	stopWatermarksSQL string

	//go:embed raise_clocks.sql
	raiseClocksSQL string
)

// releaseWatermarksSQL lets the watermarks of the live generation move again when generation $1 is dropped, unless another one is unfinished: its
// rows are later than the highest watermark only while that does not move.
const releaseWatermarksSQL = `update control.stream set last_watermark = null
where last_watermark is not null and not exists (select from control.generation where state = 'building' and id <> $1)`

// isNewHistory tells whether any position of the live generation is of another stream than the one that is read. Nothing then proves which
// rows are the same.
func (b *builder) isNewHistory(positions map[int16]store.Position) bool {
	for _, p := range positions {
		if !p.Stream.Same(b.source.History) {
			return true
		}
	}
	return false
}

// beginHistory makes all rows of the new generation later than everything that readers were told is complete: no watermark of the live
// generation passes the highest one from now on, and no partition's clock of the stream that is read begins before it. So a client that walks by
// updatedAt reads every row again. No commit is under way meanwhile.
func (b *builder) beginHistory(ctx context.Context, tx pgx.Tx) error {
	if err := beginWritePause(ctx, tx); err != nil {
		return err
	}
	stream := b.source.History
	if _, err := tx.Exec(ctx, stopWatermarksSQL, stream.Name, stream.Created); err != nil {
		return fmt.Errorf("stop watermarks: %w", err)
	}
	if _, err := tx.Exec(ctx, raiseClocksSQL, stream.Name, stream.Created, b.partitions); err != nil {
		return fmt.Errorf("raise clocks: %w", err)
	}
	b.result.NewHistory = true
	return nil
}
