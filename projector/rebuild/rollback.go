package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/projector/ingest"
	"callboard/projector/store"
	"callboard/schema"
)

// rollback makes the previous generation live.
func (b *builder) rollback(ctx context.Context) (err error) {
	if b.source, err = newSource(ctx, b.config); err != nil {
		return err
	}

	if err := withConn(ctx, b.config.Database, func(conn *pgx.Conn) error { return b.findPrevious(ctx, conn) }); err != nil {
		return err
	}

	// The dead letters of an unfinished generation are not the dead letters of the previous generation.
	if _, err := dropGenerations(ctx, b.config, Unfinished, 0); err != nil {
		return err
	}

	if b.loader, err = newLoader(ctx, b.config, b.source, b.next.Schema(), ingest.Replay{}); err != nil {
		return err
	}
	defer b.loader.close()
	b.loader.takeOver = true

	for _, step := range []func(context.Context) error{b.load, b.correctAndReplace} {
		if err = step(ctx); err != nil {
			break
		}
	}

	// After the switch, the rollback has taken effect in spite of the error.
	if err != nil && b.result.Generation != 0 {
		return fmt.Errorf("generation %d is live: %w", b.next.ID, err)
	}
	return err
}

// findPrevious finds the newest previous generation. It and the live one must be of the stream as it is now, because
// the previous one continues with the messages after its position. Nothing is compared: what was corrected since it
// went live shows other values again.
func (b *builder) findPrevious(ctx context.Context, conn *pgx.Conn) (err error) {
	if b.live, _, err = liveGeneration(ctx, conn); err != nil {
		return err
	}

	var definition []byte
	var wentLive time.Time

	err = conn.QueryRow(ctx, "select id, definition, switched_at from control.generation where state = 'previous' order "+
		"by switched_at desc, id desc limit 1").
		Scan(&b.next.ID, &definition, &wentLive)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoPrevious
	case err != nil:
		return fmt.Errorf("find the previous generation: %w", err)
	case !bytes.Equal(definition, schema.Definition()):
		return fmt.Errorf("generation %d: %w: run 'callboard rollback' of that release", b.next.ID, ErrOtherDefinition)
	}

	for _, g := range []struct{ name, schema string }{
		{fmt.Sprintf("generation %d", b.next.ID), b.next.Schema()},
		{"live generation", liveSchema},
	} {
		positions, err := store.Positions(ctx, conn, g.schema)
		if err != nil {
			return err
		}

		if err := b.source.verifyPositions(ctx, positions); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}

	b.changed, err = correctedSince(ctx, conn, b.source, wentLive)
	return err
}
