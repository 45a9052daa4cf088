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

type keysShowCommand struct {
	output
	ID       uuid.UUID        `arg:"" help:"The key's id, from 'keys list'."`
	Postgres setting.Postgres `embed:""`
}

// Run shows a key.
func (c *keysShowCommand) Run(ctx context.Context, streams process.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		key, err := registry(pool).Show(ctx, c.ID)
		if err != nil {
			return unknown(err, c.ID)
		}
		return c.print(streams.Out, key, func(w io.Writer) error {
			if err := writeKey(w, key.Record); err != nil {
				return err
			}
			return writeLineage(w, key)
		})
	})
}

func writeKey(w io.Writer, k access.Record) error {
	rows := [][]string{
		{"id", k.ID.String()},
		{"name", printable(k.Name)},
		{"state", string(k.State)},
		{"key", access.KeyPrefix + k.Short + "_..."},
		{"pepper", k.Pepper},
		{"grant", grant(k.Grant)},
		{"scopes", scopes(k.Scopes)},
		{"tier", string(k.Tier)},
		{"created", instant(k.CreatedAt)},
		{"last used", lastUse(k)},
	}
	if k.OwnExtension.Valid {
		rows = append(rows, []string{"own calls of", "extension " + k.OwnExtension.UUID.String()})
	}
	if len(k.Networks) > 0 {
		rows = append(rows, []string{"allowed from", join(k.Networks)})
	}
	if k.ExpiresAt != nil {
		rows = append(rows, []string{"expires", instant(*k.ExpiresAt)})
	}
	if k.RevokedAt != nil {
		rows = append(rows, []string{"revoked", instant(*k.RevokedAt)})
	}
	return table(w, rows)
}

// writeLineage writes the keys of a lineage that has several, with the one that was asked for marked.
func writeLineage(w io.Writer, key access.KeyWithLineage) error {
	if len(key.LineageKeys) == 1 {
		return nil
	}
	if _, err := fmt.Fprint(w, "\nThe keys of this lineage, newest first. They share one budget.\n\n"); err != nil {
		return err
	}
	rows := [][]string{{"", "ID", "STATE", "CREATED", "EXPIRES", "LAST USED"}}
	for _, k := range key.LineageKeys {
		mark := ""
		if k.ID == key.ID {
			mark = "*"
		}
		rows = append(rows, []string{
			mark, k.ID.String(), string(k.State), instant(k.CreatedAt), instantOr(k.ExpiresAt, "never"), lastUse(k),
		})
	}
	return table(w, rows)
}
