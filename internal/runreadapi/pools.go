package runreadapi

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/internal/run/connection"
	"callboard/schema"
)

// The sizes of the pools.
const (
	accessConnections     = 4 // checking a credential takes less than a millisecond
	projectionConnections = 16
	readinessConnections  = 1
)

// pools are the reader's connections to PostgreSQL. Checking a credential, and telling whether the reader is ready,
// must not wait for slow reads of the projection, so each has separate connections.
type pools struct {
	access     *pgxpool.Pool   // credentials, on the primary
	projection *pgxpool.Pool   // on the replica, or on the primary if there is none
	readiness  []*pgxpool.Pool // one for each server
	replica    bool
	all        []*pgxpool.Pool
}

// openPools opens the pools, which connect when they are first used. Close them.
func openPools(ctx context.Context, c Config, metrics prometheus.Registerer) (*pools, error) {
	connection.CheckTLS(c.Log, c.Postgres, c.Replica)
	p := &pools{replica: c.Replica.Reveal() != ""}
	primary := connection.PostgresConfig{
		URL: c.Postgres, Program: "reader", ReadWrite: true, Settings: connection.ReaderSettings(), Log: c.Log,
		AfterConnect: schema.PlanEachTime, Metrics: metrics,
	}

	read := primary
	if p.replica {
		read.URL, read.ReadWrite = c.Replica, false
	}

	// A statement on the projection can take long. Its cancellation must not cost the connection.
	projection := read
	projection.CancelStatements = true

	// The error names every pool that can't be opened.
	var err error
	open := func(name string, size int, config connection.PostgresConfig) *pgxpool.Pool {
		config.Pool, config.Connections = name, size
		pool, failed := connection.NewPool(ctx, config)
		if failed != nil {
			err = errors.Join(err, failed)
			return nil
		}
		p.all = append(p.all, pool)
		return pool
	}

	// Readiness has connections of its own, one to each server.
	p.access = open("access", accessConnections, primary)
	p.projection = open("projection", cmp.Or(c.ReadConnections, projectionConnections), projection)
	p.readiness = append(p.readiness, open("readiness", readinessConnections, primary))
	if p.replica {
		p.readiness = append(p.readiness, open("readiness_read", readinessConnections, read))
	}
	if err != nil {
		p.close()
		return nil, err
	}

	return p, nil
}

// primary is the pool from which the primary's copy of the projection is read: to compare it with the replica's.
func (p *pools) primary() *pgxpool.Pool {
	if p.replica {
		return p.access
	}
	return p.projection
}

func (p *pools) close() {
	for _, pool := range p.all {
		pool.Close()
	}
}
