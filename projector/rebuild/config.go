package rebuild

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/schema"
)

// Config is what all operations need.
type Config struct {
	JetStream jetstream.JetStream
	Stream    string
	Database  *pgxpool.Pool // of the primary, as the schema's owner; for a verification, as callboard_operator
	Workers   int           // batches applied, and indexes created, at a time; 0: one per processor
	Batch     int           // messages applied in one transaction; 0: 2000

	// MaxLiveLag is the lag of the live projection above which the work waits, until the lag is at most half of it; 0:
	// it never waits.
	MaxLiveLag time.Duration
	// Throttled is called with the reason why the work waits, which can be a write pause that could not begin, and with
	// an empty string when it continues; may be nil.
	Throttled func(reason string)
	// Progress is called on every step, from several goroutines; may be nil.
	Progress func(Progress)

	session  int32 // the process of PostgreSQL that holds the operation's lock
	throttle *throttle
}

func (c Config) complete() Config {
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	c.Batch = cmp.Or(c.Batch, 2000)

	if c.Throttled == nil {
		c.Throttled = func(string) {}
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	c.throttle = newThrottle(c)
	return c
}

// liveSchema is the schema of the live generation.
const liveSchema = "projection"

// spareConnections are for statements beside the workers' ones: locks, the write pause, the snapshot.
const spareConnections = 8

// pool opens a pool like Database, with additional session settings. It is large enough for the goroutines that hold
// one connection while they wait for another.
func (c Config) pool(ctx context.Context, session map[string]string) (*pgxpool.Pool, error) {
	config := c.Database.Config()
	config.MaxConns = max(config.MaxConns, int32(2*c.Workers+spareConnections))
	maps.Copy(config.ConnConfig.RuntimeParams, session)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	return pool, nil
}

func withConn(ctx context.Context, pool *pgxpool.Pool, work func(*pgx.Conn) error) error {
	return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return work(c.Conn()) })
}

// beginDurably does work in a transaction whose commit waits for the disk, and for a synchronous standby: what the
// transaction decides must not be lost.
func beginDurably(ctx context.Context, db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select control.commit_durably()"); err != nil {
			return fmt.Errorf("begin a durable transaction: %w", err)
		}
		if _, err := tx.Exec(ctx, schema.OneSessionPerNode); err != nil {
			return fmt.Errorf("begin a durable transaction: %w", err)
		}
		return work(tx)
	})
}

// asUnconfirmed makes an [ErrUnconfirmed] of the error of a transaction whose work was done, unless PostgreSQL has
// refused the commit.
func asUnconfirmed(err error, done bool) error {
	var refusal *pgconn.PgError
	if err == nil || !done || errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
}

// ErrBusy means that another process holds the lock of these operations.
var ErrBusy = errors.New("another operation is in progress: a rebuild, rollback, repair or verification")

const (
	// operationLock is the key of the advisory lock of all operations: "rebuild" in ASCII.
	operationLock = 0x72656275696c64
	// operationLockTimeout is long enough for the lock of a process that has just ended to be released.
	operationLockTimeout = "2s"
	releaseTimeout       = 5 * time.Second
)

// withLock does work under the advisory lock of all operations, with a pool for the work alone, which has the live
// tables on its search path.
func withLock(ctx context.Context, c Config, work func(Config) error) (err error) {
	c = c.complete()

	// One connection holds the lock for as long as the operation runs.
	conn, err := pgx.ConnectConfig(ctx, c.Database.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, releaseLock(ctx, conn)) }()

	_, err = conn.Exec(ctx, fmt.Sprintf("set lock_timeout = '%s'; select pg_advisory_lock(%d)", operationLockTimeout,
		int64(operationLock)))
	switch {
	case schema.HasCode(err, pgerrcode.LockNotAvailable):
		return ErrBusy
	case err != nil:
		return fmt.Errorf("operation lock: %w", err)
	}

	// checkLock finds out later whether this session still holds the lock.
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&c.session); err != nil {
		return fmt.Errorf("operation lock: %w", err)
	}

	pool, err := c.pool(ctx, map[string]string{"search_path": liveSchema})
	if err != nil {
		return err
	}
	defer pool.Close()
	c.Database = pool
	return work(c)
}

// releaseLock closes the connection of the operation's lock. PostgreSQL ends a session after its connection, so the
// lock is released first: the next operation need not wait for that.
func releaseLock(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, "select pg_advisory_unlock_all()") // the end of the session releases it, too
	return conn.Close(ctx)
}

//go:embed owns_lock.sql
var ownsLockSQL string

// checkLock is an error if the operation's lock is gone. After a failover of PostgreSQL, which can have lost what was
// committed, it is.
func (c Config) checkLock(ctx context.Context, tx pgx.Tx) error {
	var owned bool
	if err := tx.QueryRow(ctx, ownsLockSQL, c.session, int64(operationLock)).Scan(&owned); err != nil {
		return fmt.Errorf("operation lock: %w", err)
	}
	if !owned {
		return errors.New("operation lock: its session has ended, as after a failover of PostgreSQL: run the command again")
	}
	return nil
}

// Progress is how far a step has come.
type Progress struct {
	Step        Step
	Done, Total int64 // of the step; a Total of 0 is not known
}

// Step is a step of an operation.
type Step string

// The steps, in order.
const (
	StepPlan    Step = "plan"
	StepLoad    Step = "load"    // counts messages
	StepIndex   Step = "index"   // counts statements
	StepCompare Step = "compare" // counts tables
	StepSwitch  Step = "switch"
	StepDrop    Step = "drop"
)
