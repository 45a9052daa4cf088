package main

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/readapi/access"
)

type keysListCommand struct {
	output
	Postgres setting.Postgres `embed:""`
}

// Run lists the keys.
func (c *keysListCommand) Run(ctx context.Context, streams process.Streams) error {
	return withDatabase(ctx, c.Postgres, func(pool *pgxpool.Pool) error {
		keys, err := registry(pool).List(ctx)
		if err != nil {
			return err
		}
		if keys == nil {
			keys = []access.Record{}
		}
		return c.print(streams.Out, keys, func(w io.Writer) error { return writeKeys(w, keys) })
	})
}

func writeKeys(w io.Writer, keys []access.Record) error {
	if len(keys) == 0 {
		_, err := fmt.Fprintln(w, "No keys. 'callboard keys issue' makes one.")
		return err
	}
	rows := [][]string{{"ID", "NAME", "STATE", "GRANT", "SCOPES", "CREATED", "LAST USED"}}
	for _, k := range keys {
		rows = append(rows, []string{
			k.ID.String(), printable(k.Name), string(k.State), grant(k.Grant), scopes(k.Scopes), instant(k.CreatedAt),
			instantOr(k.LastUsedAt, "never"),
		})
	}
	return table(w, rows)
}
