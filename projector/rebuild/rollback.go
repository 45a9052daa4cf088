package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"callboard/projector/store"
	"callboard/schema"
)

// What a rollback is refused for, and a repair of what another release built.
var (
	ErrNoPrevious      = errors.New("no generation is kept: 'callboard rebuild --keep' keeps the one that it replaces")
	ErrOtherDefinition = errors.New("another release built it")
)

// Rollback puts the generation that was kept in the live one's place, after it has come to where that stands. What was live is kept,
// so that a second rollback undoes the first.
func Rollback(ctx context.Context, c Config) (result Result, err error) {
	c = c.complete()
	err = exclusively(ctx, c, false, func(c Config) error {
		b := &building{config: c, keep: true}
		if err := b.revive(ctx); err != nil {
			return err
		}
		// What it took for dead letters is not what the kept one takes for them.
		if _, err := abandon(ctx, c); err != nil {
			return err
		}
		follower, err := newFollower(ctx, c, b.source, b.next, nil)
		if err != nil {
			return err
		}
		defer follower.pool.Close()
		err = b.replace(ctx, follower)
		result = b.result
		return err
	})
	return result, err
}

// revive finds the generation that was kept last.
func (b *building) revive(ctx context.Context) (err error) {
	if b.source, _, err = newSource(ctx, b.config); err != nil {
		return err
	}
	return withConn(ctx, b.config.Database, func(conn *pgx.Conn) error {
		if b.live, err = liveGeneration(ctx, conn); err != nil {
			return err
		}
		var definition []byte
		err := conn.QueryRow(ctx, "select id, definition from control.generation where state = 'previous' order by switched_at desc limit 1").
			Scan(&b.next.ID, &definition)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrNoPrevious
		case err != nil:
			return fmt.Errorf("generation: %w", err)
		case !bytes.Equal(definition, schema.Definition()):
			return fmt.Errorf("generation %d: %w: only that release's rollback can bring it up to date first", b.next.ID, ErrOtherDefinition)
		}
		return b.sameStream(ctx, conn)
	})
}

// sameStream holds what both generations were built from against the stream as it is now: the kept one goes on behind the live one.
func (b *building) sameStream(ctx context.Context, conn *pgx.Conn) error {
	for _, g := range []struct{ name, schema string }{
		{fmt.Sprintf("generation %d", b.next.ID), b.next.Schema()},
		{"the live generation", live},
	} {
		positions, err := store.Positions(ctx, conn, g.schema)
		if err != nil {
			return err
		}
		if err := b.source.mustHold(ctx, positions); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}
