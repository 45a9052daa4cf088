package projector

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// LockClass is the first key of the advisory locks. The view control.partition_owner names the same number. The second
// key is a partition.
const LockClass = 0x63616c6c

const (
	// lockTimeout limits a statement. A server that stalls for less ends no partition.
	lockTimeout = time.Minute
	// stopTimeout limits a statement whose context has ended.
	stopTimeout = 5 * time.Second
)

var (
	//go:embed lock_keys.sql
	lockKeysSQL string

	//go:embed other_owners.sql
	otherOwnersSQL string

	// {{other_owners}} stands for the statement above.
	//go:embed terminate_owner.sql
	terminateOwnerSQL string
)

// Locks are the advisory locks that one database connection holds. They share work among processes and don't protect
// it: an owner that is frozen can act after its locks are gone.
//
// A statement fails when the connection breaks, after [lockTimeout], and [stopTimeout] after the context has ended: the
// workers have ended before the locks are released. For one goroutine.
type Locks struct {
	conn   *pgx.Conn
	owners map[int32]*lastStatement
}

// lastStatement is the last statement of another owner's session.
type lastStatement struct {
	at     time.Time // by the server's clock
	checks int       // how many checks have found no newer one
}

// Session is a database session.
type Session struct {
	PID         int32
	Application string
}

// NewLocks opens a separate connection, with the settings of pool. Close it.
func NewLocks(ctx context.Context, pool *pgxpool.Pool) (*Locks, error) {
	config := pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, fmt.Errorf("advisory locks: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("advisory locks: %w", err)
	}
	return &Locks{conn: conn, owners: make(map[int32]*lastStatement)}, nil
}

// TryLock locks those of the keys that no other session has locked, and returns them. With no key it only proves that
// the connection, and with it every lock, is still there.
func (l *Locks) TryLock(ctx context.Context, keys []int) (locked []int, err error) {
	err = l.do(ctx, func(ctx context.Context) (err error) {
		rows, _ := l.conn.Query(ctx, lockKeysSQL, LockClass, keys)
		locked, err = pgx.CollectRows(rows, pgx.RowTo[int])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("advisory locks: %w", err)
	}
	return locked, nil
}

// Unlock releases a key.
func (l *Locks) Unlock(ctx context.Context, key int) error {
	err := l.do(ctx, func(ctx context.Context) error {
		_, err := l.conn.Exec(ctx, "select pg_advisory_unlock($1, $2)", LockClass, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("advisory locks: %w", err)
	}
	return nil
}

// TerminateUnresponsive checks the sessions of other owners, and terminates each that has sent no statement for a
// number of checks. A process that is frozen, or whose host has disappeared, keeps its session and its locks. The time
// between the checks doesn't count: while the server answers no connection, no owner can send a statement.
func (l *Locks) TerminateUnresponsive(ctx context.Context, checks int) (terminated []Session, err error) {
	err = l.do(ctx, func(ctx context.Context) error {
		silent, err := l.findSilent(ctx, checks)
		if err != nil {
			return err
		}

		// The statement spares a session that has become active since findSilent.
		sql := strings.Replace(terminateOwnerSQL, "{{other_owners}}", otherOwnersSQL, 1)
		for _, session := range silent {
			var done bool
			if err := l.conn.QueryRow(ctx, sql, LockClass, session.PID, l.owners[session.PID].at).Scan(&done); err != nil {
				return err
			}
			if done {
				terminated = append(terminated, session)
			}
		}

		return nil
	})
	if err != nil {
		return terminated, fmt.Errorf("unresponsive owners: %w", err)
	}
	return terminated, nil
}

// findSilent returns the sessions of other owners that have sent no statement for a number of checks.
func (l *Locks) findSilent(ctx context.Context, checks int) (silent []Session, err error) {
	rows, _ := l.conn.Query(ctx, otherOwnersSQL, LockClass)
	seen := make(map[int32]*lastStatement)
	var session Session
	var at time.Time

	// An owner whose time is the same as at the last check has sent no statement since.
	_, err = pgx.ForEachRow(rows, []any{&session.PID, &session.Application, &at}, func() error {
		last := l.owners[session.PID]
		if last == nil || !last.at.Equal(at) {
			last = &lastStatement{at: at}
		} else {
			last.checks++
		}

		seen[session.PID] = last
		if last.checks >= checks {
			silent = append(silent, session)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	// Sessions that no longer own partitions are forgotten.
	l.owners = seen
	return silent, nil
}

// Close releases every lock by closing the connection.
func (l *Locks) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := l.conn.Close(ctx); err != nil {
		return fmt.Errorf("advisory locks: %w", err)
	}
	return nil
}

// do executes statements on the connection. They may go on for a moment after ctx has ended.
func (l *Locks) do(ctx context.Context, statements func(context.Context) error) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
	defer cancel()
	stopped := context.AfterFunc(ctx, func() { time.AfterFunc(stopTimeout, cancel) })
	defer stopped()
	return statements(limited)
}
