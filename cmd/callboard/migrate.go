package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/schema"
)

type migrateCommand struct {
	output
	RenewProjection bool             `help:"Drop the projection and build an empty one, which the projector fills from the stream. Readers answer 404 until then."`
	Postgres        setting.Postgres `embed:""`
}

// migrated is what was done.
type migrated struct {
	Migrated bool `json:"migrated"`
	Renewed  bool `json:"renewed"` // the projection

	// Undone is what a superuser should still do.
	Undone []string `json:"undone"`
}

// Run migrates. It may run twice, and twice at once.
func (c *migrateCommand) Run(ctx context.Context, streams process.Streams) error {
	url := c.Postgres.URL.Get().Reveal()
	undone, err := schema.Migrate(ctx, url)
	if c.RenewProjection && (err == nil || errors.Is(err, schema.ErrProjectionChanged)) {
		err = schema.RenewProjection(ctx, url)
	}
	var offline *pgconn.ConnectError
	if errors.As(err, &offline) {
		return unreachable(err)
	}
	if err != nil {
		return advised(err)
	}
	done := migrated{Migrated: true, Renewed: c.RenewProjection, Undone: append([]string{}, undone...)}
	return c.print(streams.Out, done, func(w io.Writer) error {
		said := "The database has this release's schema and roles."
		if c.RenewProjection {
			said += " The projection is empty; the projector fills it."
		}
		_, err := fmt.Fprintln(w, strings.Join(append([]string{said}, undone...), "\n"))
		return err
	})
}
