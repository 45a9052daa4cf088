package query

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"callboard/readapi/access"
	"callboard/schema"
)

// ErrNotFound is returned for a row that doesn't exist, was deleted, belongs to another system, or is outside a key's
// narrowing.
var ErrNotFound = errors.New("not found")

// ErrNoSystem is the [ErrNotFound] of a phone system that does not exist.
var ErrNoSystem = fmt.Errorf("phone system: %w", ErrNotFound)

// Projection reads the projection. It is safe for concurrent use.
type Projection struct {
	pool       *pgxpool.Pool
	long       func() *semaphore.Weighted // the connections that long statements can have
	waiting    atomic.Int64               // long statements that wait for a connection
	partitions access.PartitionCount
}

// New returns a Projection that reads through the pool. The caller closes the pool.
func New(pool *pgxpool.Pool) *Projection {
	p := &Projection{pool: pool}
	p.long = sync.OnceValue(func() *semaphore.Weighted {
		return semaphore.NewWeighted(int64(max(1, pool.Config().MaxConns/2)))
	})
	return p
}

// Partition returns the partition of a phone system, as far as statements have told.
func (p *Projection) Partition(system uuid.UUID) int16 {
	in, _ := p.partitions.Of(system)
	return in
}

// stalePlan says that the types of a prepared statement's columns have changed, as they may when a rebuild switches
// generations. The driver has discarded the statement by the time it returns this error.
const stalePlan = pgerrcode.FeatureNotSupported

// read reads the rows of a statement.
type read func(pgx.Rows) error

// runner runs a statement and reads its rows.
type runner func(sql string, arguments []any, read read) error

// runShort returns what runs a statement and reads its rows. It runs the statement again if the plan was made for
// an older generation, or if the connection was lost before the first row.
func (p *Projection) runShort(ctx context.Context) runner {
	return func(sql string, arguments []any, read read) error {
		return p.repeat(ctx, schema.Repeat, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
			return queryOnce(ctx, conn, sql, arguments, read)
		})
	}
}

// runLong is runShort for statements that can take long. They are cancelled when their client leaves.
func (p *Projection) runLong(ctx context.Context) runner {
	return func(sql string, arguments []any, read read) error {
		return p.repeatLong(ctx, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
			return queryOnce(ctx, conn, sql, arguments, read)
		})
	}
}

//go:embed locate.sql
var locateSQL string

// ofSystem runs a statement about a phone system, which has at least one row where the phone system exists. Its first
// arguments are the phone system's partition and its id. Without a row, the generation may have another number of
// partitions than the known one: then the statement runs again. If read wants a row, the error is [ErrNoSystem] without
// a phone system.
func (p *Projection) ofSystem(run runner, sql string, system uuid.UUID, arguments []any, read read) error {
	for range access.Attempts {
		in, partitions := p.partitions.Of(system)

		// A statement that finds a row has read the right partition.
		found := false
		err := run(sql, append([]any{in, schema.UUID(system)}, arguments...), func(rows pgx.Rows) error {
			observed := &observedRows{Rows: rows}
			err := read(observed)
			found = observed.any
			return err
		})
		if found || err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}

		// Without a row, either the phone system does not exist, or its partition is another.
		missing, locateErr := p.missing(run, system, in, partitions)
		if locateErr != nil {
			return locateErr
		}

		if missing && err != nil {
			return ErrNoSystem
		}
		if missing {
			return nil
		}
	}
	return access.ErrSwitching
}

// missing tells whether a phone system, which was looked for in a partition, does not exist. It learns another number
// of partitions: then the phone system is to be looked for again.
func (p *Projection) missing(run runner, system uuid.UUID, in int16, partitions int) (missing bool, err error) {
	var now int
	var found bool

	err = run(locateSQL, []any{in, schema.UUID(system)}, func(rows pgx.Rows) error {
		if !rows.Next() {
			return noRow(rows)
		}
		return rows.Scan(&now, &found)
	})
	if err != nil {
		return false, fmt.Errorf("locate: %w", err)
	}

	// By another number, the phone system can be in another partition.
	if now != partitions {
		p.partitions.Learn(now)
		return false, nil
	}

	return !found, nil
}

// inSnapshot runs statements that can take long in one snapshot. A statement names its tables when it is planned, so
// the statements of a snapshot can read two generations.
func (p *Projection) inSnapshot(ctx context.Context, work func(runner) error) error {
	return p.repeatLong(ctx, func(ctx context.Context, conn *pgxpool.Conn) (used bool, err error) {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		err = pgx.BeginTxFunc(ctx, conn, options, func(tx pgx.Tx) error {
			return work(func(sql string, arguments []any, read read) error {
				rows, err := queryOnce(ctx, tx, sql, arguments, read)
				used = used || rows
				return err
			})
		})
		return used, err
	})
}

// repeatLong runs statements that can take long. They have half of the connections at most, so that others always find
// one soon. The memory that their requests reserve bounds how many of them wait.
func (p *Projection) repeatLong(ctx context.Context, run schema.Statement) error {
	p.waiting.Add(1)
	err := p.long().Acquire(ctx, 1)
	p.waiting.Add(-1)
	if err != nil {
		return fmt.Errorf("wait for a connection for a long statement: %w", err)
	}
	defer p.long().Release(1)
	return p.repeat(ctx, schema.RepeatLong, run)
}

func (p *Projection) repeat(
	ctx context.Context, repeated func(context.Context, *pgxpool.Pool, schema.Statement) error, run schema.Statement,
) error {
	err := repeated(ctx, p.pool, run)
	if schema.HasCode(err, stalePlan) {
		return repeated(ctx, p.pool, run)
	}
	return err
}

// LongStatementsWaiting returns how many long statements wait for others of their kind.
func (p *Projection) LongStatementsWaiting() int64 { return p.waiting.Load() }

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

// queryOnce also reports whether there was a row.
func queryOnce(ctx context.Context, q querier, sql string, arguments []any, read read) (bool, error) {
	rows, err := q.Query(ctx, sql, arguments...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	observed := &observedRows{Rows: rows}
	if err := read(observed); err != nil {
		return observed.any, err
	}
	return observed.any, rows.Err()
}

// observedRows tells whether a row was read.
type observedRows struct {
	pgx.Rows
	any bool
}

// Next implements [pgx.Rows].
func (r *observedRows) Next() bool {
	more := r.Rows.Next()
	r.any = r.any || more
	return more
}

// noRow is the error for a statement without a row.
func noRow(rows pgx.Rows) error {
	if err := rows.Err(); err != nil {
		return err
	}
	return ErrNotFound
}
