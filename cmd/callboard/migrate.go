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
	RenewProjection bool             `help:"Drop the projection and create an empty one, which the projector fills from the stream. Until then readers answer 404. 'callboard rebuild' has no such interruption."`
	Postgres        setting.Postgres `embed:""`
}

// migrateResult is the JSON of a migration.
type migrateResult struct {
	Migrated bool `json:"migrated"`
	Renewed  bool `json:"renewed"` // the projection
	Rebuild  bool `json:"rebuild"` // another release built the projection, so it should be rebuilt

	// SuperuserSteps are sentences about what the user had no rights for.
	SuperuserSteps []string `json:"superuserSteps"`
}

// Run migrates. It may run repeatedly, and concurrently.
func (c *migrateCommand) Run(ctx context.Context, streams process.Streams) error {
	url := c.Postgres.URL.Get().Reveal()
	steps, err := schema.Migrate(ctx, url)
	otherRelease := errors.Is(err, schema.ErrProjectionChanged)
	if c.RenewProjection && (err == nil || otherRelease) {
		otherRelease, err = false, schema.RecreateProjection(ctx, url)
	}
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return unreachable(err)
	}
	if err != nil && !otherRelease {
		return withDatabaseAdvice(err, "CALLBOARD_POSTGRES_URL must name a user who may create roles")
	}
	done := migrateResult{Migrated: true, Renewed: c.RenewProjection, Rebuild: otherRelease, SuperuserSteps: append([]string{}, steps...)}
	return c.print(streams.Out, done, done.write)
}

func (m migrateResult) write(w io.Writer) error {
	line := "The database has this release's schema and roles."
	if m.Renewed {
		line += " The projection is empty; a projector fills it."
	}
	lines := append([]string{line}, m.SuperuserSteps...)
	if m.Rebuild {
		lines = append(lines, "Another release built the projection: run 'callboard rebuild'.")
	}
	return writeLines(w, lines)
}
