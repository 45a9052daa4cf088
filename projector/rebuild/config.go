package rebuild

import (
	"context"
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
)

// Config is what there is to work with.
type Config struct {
	JetStream jetstream.JetStream
	Stream    string
	Database  *pgxpool.Pool // the primary; as the schema's owner, save for a verification
	Memory    int64         // for what is folded, in bytes, roughly; 0: 2 GiB
	Workers   int           // parts folded, and indexes made, at a time; 0: one a processor
	Batch     int           // messages in one portion, and in one transaction behind the live generation; 0: 2000
	// MaxLiveLag is the lag of the live projection above which the work waits, until the lag is at most half of it; 0: it never waits.
	MaxLiveLag time.Duration
	// Throttled is called with the reason why the work waits, and with an empty string when it continues; may be nil.
	Throttled func(reason string)
	// Progress is called on every step, from several goroutines; may be nil.
	Progress func(Progress)

	throttle *throttle
}

// Progress is how far a step has come.
type Progress struct {
	Step        Step
	Done, Total int64 // of the step; 0: not known
	Part        Part  // of StepFold: what was gone on with
}

// Part is a part of a partition that is being folded.
type Part struct {
	Partition, Number int
	Done, Total       int64 // messages
}

// Step is a stretch of the work.
type Step string

// The steps, in order.
const (
	StepPlan    Step = "plan"
	StepFold    Step = "fold"    // messages
	StepIndex   Step = "index"   // statements
	StepFollow  Step = "follow"  // messages
	StepCompare Step = "compare" // rows
	StepSwitch  Step = "switch"
	StepDrop    Step = "drop"
)

func (c Config) complete() Config {
	if c.Memory == 0 {
		c.Memory = 2 << 30
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Batch == 0 {
		c.Batch = 2000
	}
	if c.Throttled == nil {
		c.Throttled = func(string) {}
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	c.throttle = newThrottle(c)
	return c
}

// live is the schema that is served.
const live = "projection"

// pool is a pool like Database with further settings of its sessions. It has a connection for all that holds one while it asks for
// another.
func (c Config) pool(ctx context.Context, session map[string]string) (*pgxpool.Pool, error) {
	config := c.Database.Config()
	config.MaxConns = max(config.MaxConns, int32(2*c.Workers+followers+4))
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

// ErrBusy is work that another program is in the middle of.
var ErrBusy = errors.New("another rebuild, rollback, repair or verification is under way")

// lock is the advisory lock that lets one rebuild, rollback or repair work at a time, or several verifications: "rebuild" in ASCII.
const lock = 0x72656275696c64

// patience is how long the lock is waited for: one whose program has just ended is let go in a moment.
const patience = "2s"

// exclusively does work that nobody else may do at the same time, with a pool of its own. Beside others' sharing it is shared.
func exclusively(ctx context.Context, c Config, shared bool, work func(Config) error) (err error) {
	conn, err := pgx.ConnectConfig(ctx, c.Database.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	statement := "set lock_timeout = '" + patience + "'; select pg_advisory_lock(%d)"
	if shared {
		statement = "set lock_timeout = '" + patience + "'; select pg_advisory_lock_shared(%d)"
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(statement, int64(lock)))
	var refusal *pgconn.PgError
	switch {
	case errors.As(err, &refusal) && refusal.Code == pgerrcode.LockNotAvailable:
		return ErrBusy
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	pool, err := c.pool(ctx, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	c.Database = pool
	return work(c)
}
