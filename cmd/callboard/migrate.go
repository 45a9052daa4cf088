package main

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"callboard/cmd/process"
	"callboard/cmd/setting"
	"callboard/schema"
)

type migrateCommand struct {
	output
	RenewProjection bool             `help:"Drop the projection and build an empty one, which the projector fills from the stream. Readers answer 404 until then; 'callboard rebuild' is the way without an interruption."`
	Postgres        setting.Postgres `embed:""`
}

// migrated is what was done.
type migrated struct {
	Migrated bool `json:"migrated"`
	Renewed  bool `json:"renewed"` // the projection
	Rebuild  bool `json:"rebuild"` // the projection is another release's: it should be rebuilt

	// Undone is what a superuser should still do.
	Undone []string `json:"undone"`
}

// Run migrates. It may run twice, and twice at once.
func (c *migrateCommand) Run(ctx context.Context, streams process.Streams) error {
	url := c.Postgres.URL.Get().Reveal()
	undone, err := schema.Migrate(ctx, url)
	foreign := errors.Is(err, schema.ErrProjectionChanged)
	if c.RenewProjection && (err == nil || foreign) {
		foreign, err = false, schema.RecreateProjection(ctx, url)
	}
	var offline *pgconn.ConnectError
	if errors.As(err, &offline) {
		return unreachable(err)
	}
	if err != nil && !foreign {
		return advised(err)
	}
	done := migrated{Migrated: true, Renewed: c.RenewProjection, Rebuild: foreign, Undone: append([]string{}, undone...)}
	return c.print(streams.Out, done, done.write)
}

func (m migrated) write(w io.Writer) error {
	said := "The database has this release's schema and roles."
	if m.Renewed {
		said += " The projection is empty; the projector fills it."
	}
	lines := append([]string{said}, m.Undone...)
	if m.Rebuild {
		lines = append(lines, "The projection was built by another release: run 'callboard rebuild'.")
	}
	return writeLines(w, lines)
}
