package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
)

var (
	// ErrFenced is a write whose partition has another owner, or another position, than the batch started from.
	ErrFenced = errors.New("the position moved: another projector owns the partition, or its rows were replaced")

	// ErrStreamReplaced is a partition whose rows were built from another stream.
	ErrStreamReplaced = errors.New("the projection was built from another stream")

	// ErrDefinitionMismatch is a projection with the tables or the fold rules of another release.
	ErrDefinitionMismatch = errors.New("the projection was built by another release")

	// ErrNotMigrated is a database in which migrations of this release are missing.
	ErrNotMigrated = schema.ErrNotMigrated
)

// Store writes one projection.
type Store struct {
	pool   *pgxpool.Pool
	tables []storedTable
	plans  *plans
	nodes  schema.Nodes
}

// New returns the store of the projection on the search path of pool's connections. A connection that runs a batch
// keeps settings which suit statements that name their rows by key: nothing else that is planned with care may
// share the pool.
func New(pool *pgxpool.Pool) *Store {
	return &Store{pool: pool, tables: newTables(), plans: newPlans()}
}

// OnNodes tells whether the tables can be on several nodes. A transaction is then to change one partition.
func (s *Store) OnNodes(ctx context.Context) (bool, error) { return s.nodes.Exist(ctx, s.pool) }

// Tx is the transaction of one batch.
type Tx struct {
	store *Store
	tx    pgx.Tx
}

// BeginFunc runs work in a transaction, which it commits, or rolls back where work fails.
func (s *Store) BeginFunc(ctx context.Context, work func(*Tx) error) error {
	return s.withConn(ctx, func(conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return work(s.WithTx(tx)) })
	})
}

// withConn does work on a connection with the settings of batches.
func (s *Store) withConn(ctx context.Context, work func(*pgxpool.Conn) error) error {
	return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if err := s.plans.configure(ctx, conn.Conn()); err != nil {
			return err
		}
		return work(conn)
	})
}

// WithTx uses a transaction that the caller has begun. The tables must be on its search path.
func (s *Store) WithTx(tx pgx.Tx) *Tx {
	registerArrays(tx.Conn().TypeMap())
	return &Tx{store: s, tx: tx}
}

// send sends a pipeline of statements, in one round trip.
func (tx *Tx) send(ctx context.Context, pipeline *pgx.Batch) error {
	if pipeline.Len() == 0 {
		return nil
	}
	return tx.tx.SendBatch(ctx, pipeline).Close()
}

// IsSQLError tells whether PostgreSQL has answered a statement with an error.
func IsSQLError(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused)
}

// IsDataError tells whether PostgreSQL refused a value: an event of the batch is at fault, and a retry fails again.
func IsDataError(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (pgerrcode.IsDataException(refused.Code) ||
		pgerrcode.IsIntegrityConstraintViolation(refused.Code) || pgerrcode.IsProgramLimitExceeded(refused.Code))
}

// DataErrorReason describes an error of PostgreSQL without the data, which its own message can contain.
func DataErrorReason(err error) string {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err.Error()
	}
	return fmt.Sprintf("PostgreSQL refused it: SQLSTATE %s (table %s, column %s)", refused.Code, refused.TableName,
		refused.ColumnName)
}
