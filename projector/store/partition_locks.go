package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PartitionLockClass is the first key of a partition's advisory lock; the second key is the partition. The view
// control.partition_owner names the same number.
const PartitionLockClass = 0x63616c6c

const (
	// maxLooks is how many statements of other connections the server answers before a silent connection counts as broken. A server that
	// answers nobody is slow, which breaks nothing.
	maxLooks = 20

	// lookInterval is the time between two of these statements, and lookTimeout limits each.
	lookInterval = 500 * time.Millisecond
	lookTimeout  = 5 * time.Second

	// stopTimeout limits a statement whose context has ended.
	stopTimeout = 5 * time.Second
)

var (
	//go:embed lock_partitions.sql
	lockPartitionsSQL string

	//go:embed other_owners.sql
	otherOwnersSQL string

	//go:embed terminate_owner.sql
	terminateOwnerSQL string
)

// PartitionLocks are the advisory locks that one database connection holds. They keep two projectors from fencing each other off all
// the time; what makes a second writer harmless is the epoch of the position.
//
// A statement takes as long as the server does. It fails when the connection breaks. The connection is closed if the server answers
// [maxLooks] statements of other connections meanwhile, and [stopTimeout] after the context has ended, so that the locks are not released
// before the workers have ended. For one goroutine.
type PartitionLocks struct {
	conn   *pgx.Conn
	others *pgxpool.Pool // tells whether the server answers
	owners map[int32]*ownerSign
}

// ownerSign is the last sign of life of another owner's session.
type ownerSign struct {
	at    time.Time // of its last statement, by the server's clock
	looks int       // how many looks found no newer one
}

// Session is a database session.
type Session struct {
	PID         int32
	Application string
}

// NewPartitionLocks opens a separate connection, with the settings of pool. The connections of others tell whether the server answers.
// Close it.
func NewPartitionLocks(ctx context.Context, pool, others *pgxpool.Pool) (*PartitionLocks, error) {
	config := pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, fmt.Errorf("partition locks: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("partition locks: %w", err)
	}
	return &PartitionLocks{conn: conn, others: others, owners: make(map[int32]*ownerSign)}, nil
}

// TryLock locks those of the partitions that no other session has locked, and returns them. With no partition it only proves that the
// connection, and with it every lock, is still there.
func (l *PartitionLocks) TryLock(ctx context.Context, partitions []int) (locked []int, err error) {
	err = l.do(ctx, func(ctx context.Context) error {
		rows, err := l.conn.Query(ctx, lockPartitionsSQL, PartitionLockClass, partitions)
		if err == nil {
			locked, err = pgx.CollectRows(rows, pgx.RowTo[int])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("partition locks: %w", err)
	}
	return locked, nil
}

// Unlock releases a partition.
func (l *PartitionLocks) Unlock(ctx context.Context, partition int) error {
	err := l.do(ctx, func(ctx context.Context) error {
		_, err := l.conn.Exec(ctx, "select pg_advisory_unlock($1, $2)", PartitionLockClass, partition)
		return err
	})
	if err != nil {
		return fmt.Errorf("partition locks: %w", err)
	}
	return nil
}

// TerminateUnresponsive looks at the sessions of other owners, and terminates each that has sent no statement for a number of looks. A
// process that is frozen, or whose host has disappeared, keeps its session and its locks. If it comes back, its epochs are past. The time
// between the looks doesn't count: while the server answers nobody, no owner can give a sign.
// The error is [ErrNotMigrated] in a database without this release's migrations.
func (l *PartitionLocks) TerminateUnresponsive(ctx context.Context, looks int) (terminated []Session, err error) {
	err = l.do(ctx, func(ctx context.Context) error {
		silent, err := l.look(ctx, looks)
		if err != nil {
			return err
		}
		for _, session := range silent {
			var done bool
			if err := l.conn.QueryRow(ctx, terminateOwnerSQL, session.PID, l.owners[session.PID].at).Scan(&done); err != nil {
				return err
			}
			if done {
				terminated = append(terminated, session)
			}
		}
		return nil
	})
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && (refused.Code == pgerrcode.UndefinedTable || refused.Code == pgerrcode.InsufficientPrivilege):
		return nil, ErrNotMigrated
	case err != nil:
		return terminated, fmt.Errorf("unresponsive owners: %w", err)
	}
	return terminated, nil
}

// look returns the sessions of other owners that have given no sign for a number of looks.
func (l *PartitionLocks) look(ctx context.Context, looks int) (silent []Session, err error) {
	rows, err := l.conn.Query(ctx, otherOwnersSQL)
	if err != nil {
		return nil, err
	}
	seen := make(map[int32]*ownerSign)
	var session Session
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&session.PID, &session.Application, &at}, func() error {
		sign := l.owners[session.PID]
		if sign == nil || !sign.at.Equal(at) {
			sign = &ownerSign{at: at}
		} else {
			sign.looks++
		}
		seen[session.PID] = sign
		if sign.looks >= looks {
			silent = append(silent, session)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.owners = seen
	return silent, nil
}

// Close releases every lock by closing the connection.
func (l *PartitionLocks) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := l.conn.Close(ctx); err != nil {
		return fmt.Errorf("partition locks: %w", err)
	}
	return nil
}

// do executes statements on the connection. It doesn't end with ctx.
func (l *PartitionLocks) do(ctx context.Context, statements func(context.Context) error) error {
	inner, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { l.watch(ctx, inner, giveUp) })
	err := statements(inner)
	giveUp()
	watching.Wait()
	return err
}

// watch gives statements up that the server doesn't answer although it answers others. inner ends with the statements.
func (l *PartitionLocks) watch(ctx, inner context.Context, giveUp func()) {
	defer giveUp()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for answered := 0; answered < maxLooks; {
		select {
		case <-inner.Done():
			return
		case <-ctx.Done():
			select {
			case <-inner.Done():
			case <-time.After(stopTimeout):
			}
			return
		case <-tick.C:
			looking, cancel := context.WithTimeout(inner, lookTimeout)
			if l.others.Ping(looking) == nil {
				answered++
			}
			cancel()
		}
	}
}
