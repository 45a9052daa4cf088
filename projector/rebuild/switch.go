package rebuild

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
)

var (
	//go:embed raise_positions.sql
	raisePositionsSQL string

	//go:embed drop_skipped_dead_letters.sql
	dropSkippedDeadLettersSQL string
)

// replace makes the next generation live, once it has the corrections. Readers go on; projectors find their epochs
// outdated and start again from the positions.
func (b *builder) replace(ctx context.Context) error {
	b.config.Progress(Progress{Step: StepSwitch})

	// An error after the switch was done can mean that the commit has taken effect.
	var done bool
	pause, err := b.loader.pauseWrites(ctx, beginWritePause, func(tx pgx.Tx) error {
		err := b.switchGenerations(ctx, tx)
		done = err == nil
		return err
	})
	b.result.WritePause = Seconds(pause.Seconds())
	if err != nil {
		return asUnconfirmed(err, done)
	}

	b.result.Generation, b.result.Replaced, b.result.PreviousKept = b.next.ID, b.live.ID, b.keep
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error { return schema.InvalidatePlans(ctx, conn) })
}

// switchGenerations is the switch: fence, carry over, rename. No commit of the live generation is under way, and both
// generations have the same positions.
func (b *builder) switchGenerations(ctx context.Context, tx pgx.Tx) error {
	if err := b.fence(ctx, tx); err != nil {
		return err
	}

	// The next generation can have got dead letters since the comparison.
	if err := b.readUnreadable(ctx, tx.Conn()); err != nil {
		return err
	}
	if err := b.carryOver(ctx, tx); err != nil {
		return err
	}

	if err := b.live.MakePrevious(ctx, tx); err != nil {
		return err
	}
	return b.next.MakeLive(ctx, tx)
}

// fence is an error if this run is not the only one. It raises the epochs of the next generation above every epoch that
// a projector holds.
func (b *builder) fence(ctx context.Context, tx pgx.Tx) error {
	if err := b.config.checkLock(ctx, tx); err != nil {
		return err
	}

	now, _, err := liveGeneration(ctx, tx.Conn())
	if err != nil {
		return err
	}
	if now != b.live {
		return ErrBusy // another operation has switched meanwhile
	}

	if _, err := tx.Exec(ctx, fmt.Sprintf(raisePositionsSQL, b.next.Schema())); err != nil {
		return fmt.Errorf("raise the epochs: %w", err)
	}
	return nil
}

// carryOver brings the records beside the generations in line with the next one.
func (b *builder) carryOver(ctx context.Context, tx pgx.Tx) error {
	if err := b.recordCorrections(ctx, tx); err != nil {
		return err
	}
	if err := b.lost.drop(ctx, tx, b.source.ID); err != nil {
		return err
	}
	if err := b.raiseFloors(ctx, tx); err != nil {
		return err
	}

	if _, err := tx.Exec(ctx, dropSkippedDeadLettersSQL, b.live.ID, b.next.ID); err != nil {
		return fmt.Errorf("drop the dead letters of dropped generations: %w", err)
	}
	return nil
}
