package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"callboard/events"
	"callboard/internal/run"
	"callboard/internal/run/setting"
	"callboard/schema"
)

type migrateCommand struct {
	output
	RenewProjection bool             `help:"Drop the projection and create an empty one, which the projector fills from the stream. Until then readers answer 404. 'callboard rebuild' has no such interruption."`
	Distribute      bool             `help:"Distribute the projection over the nodes of the Citus cluster whose coordinator this database is on. A projection with rows is distributed by the next 'callboard rebuild'."`
	Shards          int              `placeholder:"N" help:"The number of shards, with --distribute. Default: as many as the projection's stream has partitions, and before a projector has started 16."`
	Passwords       string           `placeholder:"DIR" help:"Set the passwords of the roles to those in this folder, which 'callboard secrets create' made."`
	Postgres        setting.Postgres `embed:""`
}

// migrateResult is the JSON of a migration.
type migrateResult struct {
	Migrated bool `json:"migrated"`
	Renewed  bool `json:"renewed"` // the projection
	Rebuild  bool `json:"rebuild"` // another release built the projection, or it is to be distributed, so it should be rebuilt

	Distributed bool `json:"distributed"` // generations are distributed over nodes

	PasswordsSet bool `json:"passwordsSet"` // of the roles

	// SuperuserSteps are sentences about what the user had no rights for.
	SuperuserSteps []string `json:"superuserSteps"`
}

// Run migrates. It may run repeatedly, and concurrently.
func (c *migrateCommand) Run(ctx context.Context, streams run.Streams) error {
	if c.Shards != 0 && !c.Distribute {
		return &run.UsageError{Detail: "--shards requires --distribute"}
	}

	var passwords schema.Passwords
	if c.Passwords != "" {
		var err error
		if passwords, err = readPasswords(c.Passwords); err != nil {
			return fmt.Errorf("passwords: %w\nRun 'callboard secrets create %s'", err, c.Passwords)
		}
	}

	// Migrate, and say what a person can do about an error.
	done, err := c.migrate(ctx, passwords)
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return connectError(err)
	}
	if err != nil {
		return withDatabaseAdvice(err, "CALLBOARD_POSTGRES_URL must name a user who may create roles")
	}

	return c.print(streams.Out, done, done.lines()...)
}

func (c *migrateCommand) migrate(ctx context.Context, passwords schema.Passwords) (done migrateResult, err error) {
	url := c.Postgres.URL.Reveal()
	steps, err := schema.Migrate(ctx, url)
	changed := errors.Is(err, schema.ErrProjectionChanged)
	done = migrateResult{Migrated: true, Rebuild: changed, SuperuserSteps: append([]string{}, steps...)}
	// A projection of another release is no error here: a rebuild, or --renew-projection, replaces it.
	if err != nil && !done.Rebuild {
		return done, err
	}

	// The new projection is empty. The projector fills it, so no rebuild is necessary.
	if c.RenewProjection {
		if err := schema.RecreateProjection(ctx, url); err != nil {
			return done, err
		}
		done.Rebuild, done.Renewed = false, true
	}

	if c.Distribute {
		rebuild, err := schema.Distribute(ctx, url, c.Shards, events.DefaultPartitions)
		if err != nil {
			return done, err
		}
		done.Distributed, done.Rebuild = true, done.Rebuild || rebuild
	}

	if c.Passwords != "" {
		if err := schema.SetPasswords(ctx, url, passwords); err != nil {
			return done, err
		}
		done.PasswordsSet = true
	}

	return done, nil
}

func (m migrateResult) lines() []string {
	line := "The database has this release's schema and roles."
	if m.Renewed {
		line += " The projection is empty; a projector fills it."
	}
	if m.Distributed {
		line += " Generations of the projection are distributed over the nodes."
	}
	if m.PasswordsSet {
		line += " The roles have the passwords of the folder."
	}

	// The operator still has these steps to do.
	lines := append([]string{line}, m.SuperuserSteps...)
	switch {
	case m.Rebuild && m.Distributed:
		lines = append(lines, "The live projection is not distributed yet: run 'callboard rebuild'.")
	case m.Rebuild:
		lines = append(lines, "Another release built the projection: run 'callboard rebuild'.")
	}

	return lines
}

type secretsCommand struct {
	Create secretsCreateCommand `cmd:"" help:"Create the passwords, keys and URLs of an installation as files in a folder. Existing files are kept."`
}

type secretsCreateCommand struct {
	output
	Dir          string         `arg:"" help:"The folder. It is created if it does not exist."`
	Postgres     string         `default:"postgres:5432/callboard" placeholder:"HOST:PORT/DATABASE" help:"The address for the PostgreSQL URLs. Without the parameter sslmode they get sslmode=require."`
	NATS         string         `name:"nats" default:"nats:4222" placeholder:"HOST:PORT" help:"The address for the NATS URLs. For TLS write tls://HOST:PORT, and separate several servers by commas: they get nats-cluster.conf."`
	Replicas     string         `placeholder:"HOST:PORT,..." help:"The PostgreSQL standbys that readers read from. For them, postgres-standby-password, postgres-reader-replica-url and webhook-read-urls are created."`
	Group        int            `default:"65532" help:"The number of the group that may read the files: that of the programs in containers. It has an effect for root only."`
	Groups       map[string]int `name:"groups" mapsep:"," placeholder:"FILE=GROUP,..." help:"The group of each file that a program of another group may read. It has an effect for root and for members of these groups."`
	PostgresUser int            `default:"999" help:"The number of PostgreSQL's user, who may read the file of the owner's password: 70 in Alpine images. It has an effect for root only."`
}

// Run creates what is missing.
func (c *secretsCreateCommand) Run(streams run.Streams) error {
	done, err := c.create()
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	return c.print(streams.Out, done,
		"Secrets in "+done.Folder+".", "Created: "+strings.Join(done.Created, ", "), "Kept: "+strings.Join(done.Kept, ", "))
}
