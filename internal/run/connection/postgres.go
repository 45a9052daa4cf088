package connection

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/internal/run/setting"
	"callboard/schema"
)

// PostgresConfig configures a pool of connections to PostgreSQL.
type PostgresConfig struct {
	// URL is the server. If it is from a file, the file is read again for every new connection, except for session
	// settings. So are the certificates that the URL names. While the file can't be read, the URL of the start is used.
	URL setting.URL

	// Program is the first part of the application_name, which is followed by the host and the process id.
	Program string

	// Pool is the pool's name in metrics and in the log.
	Pool string

	// Connections is the size of the pool; zero: 4. It does not depend on the machine, so that operators can add up
	// what all programs take.
	Connections int

	// ReadWrite refuses servers that are in recovery or read-only.
	ReadWrite bool

	// CancelStatements makes connections survive a statement whose context ends; see [CancelStatements].
	CancelStatements bool

	// Settings are settings of the sessions beside those of [schema.SessionSettings], such as another search_path.
	Settings map[string]string

	// AfterConnect is called with each new connection; nil: it is not.
	AfterConnect func(context.Context, *pgx.Conn) error

	Log     zerolog.Logger
	Metrics prometheus.Registerer // nil: the pool's metrics are not exported
}

const (
	defaultConnections = 4

	// maxLifetime limits how long a pool uses a server after a host name or a load balancer has changed to another.
	maxLifetime = 30 * time.Minute

	connectTimeout = 10 * time.Second

	// pingTimeout limits how long a pool waits for a connection that was idle before it opens another one: the host may
	// have disappeared without closing it. It is longer than the stalls of a server that owners of partitions outlast.
	pingTimeout = 15 * time.Second

	// logInterval limits how often a pool logs that it can't connect: every request tries.
	logInterval = 10 * time.Second
)

// NewPool returns a pool, which connects when it is first used. Close it.
func NewPool(ctx context.Context, c PostgresConfig) (*pgxpool.Pool, error) {
	o := &opener{PostgresConfig: c}
	o.Log = o.Log.With().Str("pool", c.Pool).Stringer("server", c.URL).Logger().
		Sample(&zerolog.BurstSampler{Burst: 1, Period: logInterval})

	config, err := o.parse(c.URL)
	if err != nil {
		return nil, err
	}

	// These values replace parameters of the pool in the URL.
	config.MaxConns = int32(cmp.Or(c.Connections, defaultConnections))
	config.MaxConnLifetime = maxLifetime
	config.PingTimeout = pingTimeout
	config.BeforeConnect = o.reload
	config.AfterConnect = c.AfterConnect

	// The pool is known to its opener, which resets it after a failover.
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", c.URL, err)
	}
	o.pool.Store(pool)

	if c.Metrics != nil {
		if err := registerPool(c.Metrics, c.Pool, pool); err != nil {
			pool.Close()
			return nil, fmt.Errorf("metrics of pool %s: %w", c.Pool, err)
		}
	}

	c.Log.Info().Str("pool", c.Pool).Stringer("server", c.URL).Int32("connections", config.MaxConns).
		Msg("postgres pool opened")
	return pool, nil
}

// opener opens the connections of a pool.
type opener struct {
	PostgresConfig
	pool atomic.Pointer[pgxpool.Pool] // nil until the pool is there
}

// parse returns the pool's configuration for a URL.
func (o *opener) parse(url setting.URL) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url.Reveal())
	if err != nil {
		// Not wrapped, because the parser's error quotes the URL.
		return nil, fmt.Errorf("PostgreSQL at %s: the URL can't be parsed", url)
	}

	// The schema's settings override settings in the URL. The pool's settings override both.
	connect := config.ConnConfig
	connect.ConnectTimeout = cmp.Or(connect.ConnectTimeout, connectTimeout)
	maps.Copy(connect.RuntimeParams, schema.SessionSettings())
	maps.Copy(connect.RuntimeParams, o.Settings)
	if connect.RuntimeParams["application_name"] == "" {
		connect.RuntimeParams["application_name"] = applicationName(o.Program)
	}

	// A server that was demoted is refused. The kind of an error decides whether its connection is used again.
	if o.ReadWrite {
		connect.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	connect.OnPgError = o.keep
	if o.CancelStatements {
		CancelStatements(&connect.Config)
	}
	return config, nil
}

// reload makes a new connection use the server, the user and the certificates of the URL as it is now. It keeps the
// session's settings: pools that are made from this pool's configuration have further ones.
func (o *opener) reload(_ context.Context, connect *pgx.ConnConfig) error {
	now, err := o.current()
	if err != nil {
		o.Log.Error().Err(err).Msg("file of the postgres url not read")
		return nil
	}

	connect.Host, connect.Port, connect.Database = now.Host, now.Port, now.Database
	connect.User, connect.Password = now.User, now.Password
	connect.TLSConfig, connect.Fallbacks = now.TLSConfig, now.Fallbacks
	return nil
}

// current returns the configuration of the URL as it is now.
func (o *opener) current() (*pgx.ConnConfig, error) {
	url, err := o.URL.Reload()
	if err != nil {
		return nil, err
	}
	config, err := o.parse(url)
	if err != nil {
		return nil, err
	}
	return config.ConnConfig, nil
}

// keep reports whether a connection can be used after an error.
func (o *opener) keep(_ *pgconn.PgConn, e *pgconn.PgError) bool {
	switch e.Code {
	case pgerrcode.TooManyConnections:
		o.Log.Error().Err(e).Int("pool_size", cmp.Or(o.Connections, defaultConnections)).
			Msg("postgres refused a connection: raise its max_connections, or lower the pool sizes of the programs")

	case pgerrcode.ReadOnlySQLTransaction, pgerrcode.AdminShutdown, pgerrcode.CrashShutdown:
		// The primary was demoted, or is being stopped. Idle connections can lead to the same server.
		if pool := o.pool.Load(); pool != nil {
			pool.Reset()
		}
		return false
	}

	return e.Severity != "FATAL"
}

// applicationName returns a name that differs between processes of the same program.
func applicationName(program string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("%s@%.40s/%d", program, host, os.Getpid())
}

// registerPool registers the metrics of a pool.
func registerPool(registry prometheus.Registerer, name string, pool *pgxpool.Pool) error {
	labels := prometheus.Labels{"pool": name}
	gauge := func(name, help string, value func(*pgxpool.Stat) int32) prometheus.Collector {
		options := prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}
		return prometheus.NewGaugeFunc(options, func() float64 { return float64(value(pool.Stat())) })
	}

	for _, collector := range []prometheus.Collector{
		gauge("callboard_db_pool_acquired", "PostgreSQL connections in use.", (*pgxpool.Stat).AcquiredConns),
		gauge("callboard_db_pool_idle", "PostgreSQL connections that are open and not in use.", (*pgxpool.Stat).IdleConns),
		gauge("callboard_db_pool_max", "PostgreSQL connections that the pool may open.", (*pgxpool.Stat).MaxConns),

		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "callboard_db_pool_wait_seconds_total",
			Help: "Time that was spent waiting for a connection, including connecting.", ConstLabels: labels,
		}, func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() }),
	} {
		if err := registry.Register(collector); err != nil {
			return err
		}
	}

	return nil
}

// KeepAlive are settings of a session by which the server notices within seconds that the session's host has
// disappeared, and releases its locks.
func KeepAlive() map[string]string {
	return map[string]string{"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
}

// ReaderSettings returns the settings of a reader's sessions. A plan must not depend on what the planner knows
// about the tables: it would prefer a bitmap scan and a sort to the index that has a page in order. A scan that
// can't be avoided costs so much under enable_seqscan = off that it would be compiled.
func ReaderSettings() map[string]string {
	return map[string]string{
		"plan_cache_mode":   "force_generic_plan",
		"enable_bitmapscan": "off",
		"enable_seqscan":    "off",
		"jit":               "off",
	}
}

// cancelTime is how long a connection waits for the end of a statement that it has cancelled, before it closes.
const cancelTime = time.Second

// CancelStatements makes connections cancel a statement whose context ends, and go on. Otherwise they close, and the
// next statement needs a new one. A connection that has cancelled a statement is not used for 100 ms, so that it can't
// cancel the next one.
func CancelStatements(config *pgconn.Config) {
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelTime}
	}
}
