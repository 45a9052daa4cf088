package main

import (
	"fmt"

	"callboard/cmd/secrets"
	"callboard/internal/run"
)

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
	done, err := secrets.Create(secrets.Config{
		Dir: c.Dir, Postgres: c.Postgres, Replicas: c.Replicas, NATS: c.NATS, Group: c.Group, PostgresUser: c.PostgresUser, Groups: c.Groups,
	})
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	lines := []string{fmt.Sprintf("Secrets in %s: %d created, %d kept.", done.Folder, len(done.Created), len(done.Kept))}
	for _, name := range done.Created {
		lines = append(lines, "created  "+name)
	}
	for _, name := range done.Kept {
		lines = append(lines, "kept     "+name)
	}
	return c.print(streams.Out, done, lines...)
}
