//go:build !operator

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"callboard/internal/run/setting"
	"callboard/schema"
	"callboard/schema/cluster"
)

// devDatabaseName is the name of the database in the embedded cluster.
const devDatabaseName = "callboard"

// devDatabase is a database in the instance's own cluster, or an external one.
type devDatabase struct {
	cluster  *cluster.Cluster // nil for an external database
	ownerURL setting.URL      // of the user who owns the schema
}

// newDevDatabase returns the database of a URL, or without one a database of a cluster that it starts.
func newDevDatabase(ctx context.Context, external setting.URL, c cluster.Config) (*devDatabase, error) {
	if external.Reveal() != "" {
		return &devDatabase{ownerURL: external}, nil
	}

	runningDev, err := cluster.Start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}

	d := &devDatabase{cluster: runningDev}
	if d.ownerURL, err = setting.NewPostgresURL(runningDev.URL(devDatabaseName)); err != nil {
		return nil, errors.Join(err, runningDev.Stop())
	}
	return d, nil
}

// run stops the cluster when ctx ends, and returns when the cluster has stopped.
func (d *devDatabase) run(ctx context.Context) error {
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

// prepare migrates the schema. In the instance's own cluster it also creates the database.
func (d *devDatabase) prepare(ctx context.Context, progress func(string)) error {
	if d.cluster != nil {
		if err := schema.CreateDatabase(ctx, d.cluster.URL("postgres"), devDatabaseName); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}

	superuserSteps, err := schema.Migrate(ctx, d.ownerURL.Reveal())
	for _, sentence := range superuserSteps {
		progress(sentence)
	}

	// A projection of another release is rebuilt: its stream is here.
	if errors.Is(err, schema.ErrProjectionChanged) {
		progress("another release built the projection: creating an empty one, which is filled from the stream")
		err = schema.RecreateProjection(ctx, d.ownerURL.Reveal())
	}
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}

	return nil
}

// roleURL returns the URL of a session with one of the roles. The owner sets it: in an external database other programs
// can use the roles' passwords.
func (d *devDatabase) roleURL(role string) string {
	separator := "?"
	if strings.Contains(d.ownerURL.Reveal(), "?") {
		separator = "&"
	}
	return d.ownerURL.Reveal() + separator + "role=" + role
}
