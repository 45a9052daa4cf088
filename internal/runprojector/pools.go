package runprojector

import (
	"cmp"
	"context"
	"runtime"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/internal/run/connection"
)

// The sizes of the pools beside that of batches. They are apart so that none of them waits for a batch, nor a batch for
// them. One more connection, which is in no pool, holds the locks of the partitions.
const (
	// controlConnections move the watermarks of idle partitions, and count what the metrics show.
	controlConnections = 2

	auditConnections   = 1
	consoleConnections = 1
)

// batchConnections returns how many connections batches use where no setting says it. A partition uses one at a time.
// More than twice as many as there are processors don't make a backlog shorter.
func batchConnections() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

// pools are a projector's connections to PostgreSQL.
type pools struct {
	batches, control, audit, console *pgxpool.Pool
}

func (c Config) openPools(ctx context.Context, registry prometheus.Registerer) (*pools, error) {
	p := new(pools)
	for _, open := range []struct {
		pool    **pgxpool.Pool
		program string
		name    string
		size    int
		session map[string]string
	}{
		{&p.batches, "projector", "projector", cmp.Or(c.Connections, batchConnections()), session()},
		{&p.control, "projector-control", "control", controlConnections, session()},
		{&p.audit, "projector-audit", "audit", auditConnections, session()},
		{&p.console, "projector-console", "console", consoleConnections, consoleSession()},
	} {
		var err error
		*open.pool, err = connection.NewPool(ctx, connection.PostgresConfig{
			URL: c.Postgres, Program: open.program, Pool: open.name, Connections: open.size, ReadWrite: true,
			Settings: open.session, Log: c.Log, Metrics: registry,
		})
		if err != nil {
			p.close()
			return nil, err
		}
	}

	return p, nil
}

// close closes the pools that are open.
func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.batches, p.control, p.audit, p.console} {
		if pool != nil {
			pool.Close()
		}
	}
}

// session returns settings with the live generation in the search path.
func session() map[string]string {
	settings := connection.KeepAlive()
	settings["search_path"] = "projection"
	return settings
}

// consoleSession returns the settings of the console's own connection. A report that takes longer than the console
// waits ends in the server, too.
func consoleSession() map[string]string { return map[string]string{"statement_timeout": "5s"} }
