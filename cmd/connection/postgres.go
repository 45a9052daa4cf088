package connection

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/setting"
)

// PostgresConfig configures a pool of connections to PostgreSQL.
type PostgresConfig struct {
	URL setting.URL

	// Program is the first part of the application_name, which is followed by the host and the process id.
	Program string

	// ReadWrite refuses servers that are in recovery or read-only.
	ReadWrite bool

	// Settings are settings of the sessions, such as search_path.
	Settings map[string]string
}

// maxLifetime limits how long a pool uses a server after a host name or a load balancer has changed to another.
const maxLifetime = 30 * time.Minute

// NewPool returns a pool, which connects when it is first used. Close it.
func NewPool(ctx context.Context, c PostgresConfig) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil {
		// Not wrapped, because the parser's error quotes the URL.
		return nil, fmt.Errorf("PostgreSQL at %s: the URL can't be parsed", c.URL)
	}
	config.MaxConnLifetime = maxLifetime
	connect := config.ConnConfig
	maps.Copy(connect.RuntimeParams, c.Settings)
	if connect.RuntimeParams["application_name"] == "" {
		connect.RuntimeParams["application_name"] = applicationName(c.Program)
	}
	if c.ReadWrite {
		connect.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	// After an error of a demoted primary the pool closes all connections, since idle ones can lead to the same server.
	var pool atomic.Pointer[pgxpool.Pool]
	connect.OnPgError = func(_ *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code != pgerrcode.ReadOnlySQLTransaction {
			return e.Severity != "FATAL"
		}
		if p := pool.Load(); p != nil {
			p.Reset()
		}
		return false
	}
	created, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", c.URL, err)
	}
	pool.Store(created)
	return created, nil
}

// applicationName returns a name that differs between processes of the same program.
func applicationName(program string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("%s@%.40s/%d", program, host, os.Getpid())
}
