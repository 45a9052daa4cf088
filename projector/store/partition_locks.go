package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// PartitionLockClass is the first key of a partition's advisory lock; the second key is the partition. The view
// control.partition_owner names the same number.
const PartitionLockClass = 0x63616c6c

// lockTimeout limits a statement about locks.
const lockTimeout = 5 * time.Second

var (
	//go:embed lock_partitions.sql
	lockPartitionsSQL string

	//go:embed terminate_unresponsive.sql
	terminateUnresponsiveSQL string
)

// PartitionLocks are the advisory locks that one database connection holds. They keep two projectors from fencing each other off all
// the time; what makes a second writer harmless is the epoch of the position.
//
// Its methods don't end with their context: that would close the connection, and release the locks before the workers have ended.
type PartitionLocks struct {
	conn *pgx.Conn
}

// Session is a database session that was terminated.
type Session struct {
	PID         int32
	Application string
}

// NewPartitionLocks opens a separate connection, with the settings of the pool. Close it.
func NewPartitionLocks(ctx context.Context, pool *pgxpool.Pool) (*PartitionLocks, error) {
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
	return &PartitionLocks{conn: conn}, nil
}

// TryLock locks those of the partitions that no other session has locked, and returns them. With no partition it only proves that the
// connection, and with it every lock, is still there.
func (l *PartitionLocks) TryLock(ctx context.Context, partitions []int) (locked []int, err error) {
	ctx, cancel := detachWithTimeout(ctx)
	defer cancel()
	rows, err := l.conn.Query(ctx, lockPartitionsSQL, PartitionLockClass, partitions)
	if err == nil {
		locked, err = pgx.CollectRows(rows, pgx.RowTo[int])
	}
	if err != nil {
		return nil, fmt.Errorf("partition locks: %w", err)
	}
	return locked, nil
}

// Unlock releases a partition.
func (l *PartitionLocks) Unlock(ctx context.Context, partition int) error {
	ctx, cancel := detachWithTimeout(ctx)
	defer cancel()
	if _, err := l.conn.Exec(ctx, "select pg_advisory_unlock($1, $2)", PartitionLockClass, partition); err != nil {
		return fmt.Errorf("partition locks: %w", err)
	}
	return nil
}

// TerminateUnresponsive terminates the sessions of other owners that have sent no statement for the time given. A process that is frozen,
// or whose host has disappeared, keeps its session and its locks. If it comes back, its epochs are past.
// The error is [ErrNotMigrated] in a database without this release's migrations.
func (l *PartitionLocks) TerminateUnresponsive(ctx context.Context, after time.Duration) (terminated []Session, err error) {
	ctx, cancel := detachWithTimeout(ctx)
	defer cancel()
	rows, err := l.conn.Query(ctx, terminateUnresponsiveSQL, after)
	if err == nil {
		terminated, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Session])
	}
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && (refused.Code == pgerrcode.UndefinedTable || refused.Code == pgerrcode.InsufficientPrivilege):
		return nil, ErrNotMigrated
	case err != nil:
		return nil, fmt.Errorf("unresponsive owners: %w", err)
	}
	return terminated, nil
}

// Close releases every lock by closing the connection.
func (l *PartitionLocks) Close() error {
	ctx, cancel := detachWithTimeout(context.Background())
	defer cancel()
	if err := l.conn.Close(ctx); err != nil {
		return fmt.Errorf("partition locks: %w", err)
	}
	return nil
}

func detachWithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lockTimeout)
}
