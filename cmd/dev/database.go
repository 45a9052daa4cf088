package dev

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"callboard/cmd/setting"
	"callboard/schema"
	"callboard/schema/cluster"
)

// databaseName is the embedded cluster's.
const databaseName = "callboard"

// database is where the tables are: in a cluster of the instance's own, or in a database that somebody else runs.
type database struct {
	cluster  *cluster.Cluster // nil where it is somebody else's
	admin    setting.URL      // as the user who owns the schema
	password string           // of the three roles, for this run of the cluster
}

type databaseConfig struct {
	url      setting.URL // zero: a cluster in dir
	programs string
	dir      string
	say      func(string)
}

func newDatabase(ctx context.Context, c databaseConfig) (*database, error) {
	if c.url.Reveal() != "" {
		return &database{admin: c.url}, nil
	}
	running, err := cluster.Start(ctx, cluster.Config{BinDir: c.programs, DataDir: c.dir, Download: true, Progress: c.say})
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	d := &database{cluster: running, password: rand.Text()}
	if d.admin, err = setting.NewPostgresURL(running.URL(databaseName)); err != nil {
		return nil, errors.Join(err, running.Stop())
	}
	return d, nil
}

// hold keeps the cluster until ctx ends, or reports its end.
func (d *database) hold(ctx context.Context) error {
	if d.cluster == nil {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
	case <-d.cluster.Done():
	}
	return d.cluster.Stop()
}

// prepare brings the schema up to date and, in a cluster of our own, lets the roles in.
func (d *database) prepare(ctx context.Context, say func(string)) error {
	if d.cluster != nil {
		if err := schema.CreateDatabase(ctx, d.cluster.URL("postgres"), databaseName); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	undone, err := schema.Migrate(ctx, d.admin.Reveal())
	for _, sentence := range undone {
		say(sentence)
	}
	if errors.Is(err, schema.ErrProjectionChanged) {
		say("the projection is another release's: it is built anew and filled from the stream")
		err = schema.RecreateProjection(ctx, d.admin.Reveal())
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if d.cluster == nil {
		return nil
	}
	if err := schema.SetPasswords(ctx, d.admin.Reveal(), d.password); err != nil {
		return fmt.Errorf("passwords of the roles: %w", err)
	}
	return nil
}

// role is how to connect as one of the three roles. Somebody else's server may have other programs that log in as them, so
// their passwords are left alone there, and the session takes the role on.
func (d *database) role(name string) (url setting.URL, session map[string]string, err error) {
	if d.cluster == nil {
		return d.admin, map[string]string{"role": name}, nil
	}
	url, err = setting.NewPostgresURL(d.cluster.UserURL(name, d.password, databaseName))
	return url, nil, err
}
