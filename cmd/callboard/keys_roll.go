package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi/access"
)

type keysRollCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The old key's id, from 'keys list'."`
	Overlap  time.Duration    `default:"24h" help:"How long the old key is still accepted, 720h at most; 0s ends it at once."`
	Expires  *time.Duration   `placeholder:"720h" help:"How long the new key lives; by default as long as the newest of the lineage was issued for."`
	Postgres setting.Postgres `embed:""`
	Pepper   setting.Pepper   `embed:""`
}

// Run rolls a key.
func (c *keysRollCommand) Run(ctx context.Context, streams process.Streams) error {
	roll := access.Roll{Overlap: c.Overlap}
	if c.Expires != nil {
		if *c.Expires <= 0 {
			return &process.UsageError{Detail: "--expires is how long from now, such as 720h"}
		}
		roll.Lifetime = *c.Expires
	}
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		rolled, err := access.NewRegistry(pool, c.Pepper.Peppers.Get()[0]).Roll(ctx, c.ID, roll)
		if err != nil {
			return misused(unknown(err, c.ID))
		}
		shown := rolledKey{shownKey: show(rolled.IssuedKey), Old: rolled.Old}
		return c.print(streams.Out, shown, func(w io.Writer) error { return shown.write(w) })
	})
}

// rolledKey is a new key, at the one moment when it is shown whole, and what becomes of the old one.
type rolledKey struct {
	shownKey
	Old access.Record `json:"rolledFrom"`
}

func (k rolledKey) write(w io.Writer) error {
	if err := k.shownKey.write(w); err != nil {
		return err
	}
	end := "has ended"
	if k.Old.State == access.StateActive {
		end = "is accepted until " + instant(*k.Old.ExpiresAt)
	}
	_, err := fmt.Fprintf(w, "\nThe old key, %s, %s.\n", k.Old.ID, end)
	return err
}
