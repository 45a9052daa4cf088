package main

import (
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi/access"
)

type keysRevokeCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Postgres setting.Postgres `embed:""`
}

// Run revokes a key.
func (c *keysRevokeCommand) Run(ctx context.Context, streams process.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		if err := registry(pool).Revoke(ctx, c.ID); err != nil {
			return unknown(err, c.ID)
		}
		key, err := registry(pool).Show(ctx, c.ID)
		if err != nil {
			return err
		}
		return c.print(streams.Out, key, func(w io.Writer) error { return writeRevoked(w, key) })
	})
}

// writeRevoked also names the lineage's keys that are still accepted: whoever ends a customer's access means them too.
func writeRevoked(w io.Writer, key access.KeyWithLineage) error {
	if _, err := fmt.Fprintf(w, "Key %s %q is revoked.\n", key.ID, key.Name); err != nil {
		return err
	}
	for _, k := range key.LineageKeys {
		if k.State != access.StateActive {
			continue
		}
		if _, err := fmt.Fprintf(w, "Key %s of the same lineage is still active.\n", k.ID); err != nil {
			return err
		}
	}
	return nil
}
