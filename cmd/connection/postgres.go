package connection

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/setting"
)

// PostgresConfig says which PostgreSQL, and who is calling.
type PostgresConfig struct {
	URL setting.URL

	// Program is the first part of the connections' application_name; host and process follow.
	Program string

	// ReadWrite refuses servers that are in recovery or read-only: this is about the primary.
	ReadWrite bool

	// Settings are those of the connections' sessions, search_path for example.
	Settings map[string]string
}

// readOnlyTransaction is SQLSTATE read_only_sql_transaction: the answer of a primary that is none any more.
const readOnlyTransaction = "25006"

// maxLifetime bounds how long a pool can stay with a server that a name or a balancer no longer stands for.
const maxLifetime = 30 * time.Minute

// NewPool is a pool. It connects when it is first used. Close it.
func NewPool(ctx context.Context, c PostgresConfig) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(c.URL.Reveal())
	if err != nil {
		// The parser quotes the URL; the setting has refused what it could see.
		return nil, fmt.Errorf("PostgreSQL at %s: the URL can't be read", c.URL)
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
	// A pool that met a demoted primary forgets all its connections: those that are idle may lead to the same server.
	var pool atomic.Pointer[pgxpool.Pool]
	connect.OnPgError = func(_ *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code != readOnlyTransaction {
			return e.Severity != "FATAL"
		}
		if whole := pool.Load(); whole != nil {
			whole.Reset()
		}
		return false
	}
	made, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", c.URL, err)
	}
	pool.Store(made)
	return made, nil
}

// applicationName tells programs of one kind apart.
func applicationName(program string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("%s@%.40s/%d", program, host, os.Getpid())
}
