// Package repeat runs a statement again when its connection was lost, or could not be made because a password is being replaced. So a new
// password fails no request, and the end of the database's sessions only those whose statements have returned rows. A client that leaves does
// not end its statement: that would close the connection, and clients that come and go could hold a pool.
package repeat

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	attempts = 4

	// pause is the time in which the operator's next step, the new password in a file or in the database, takes effect.
	pause = 200 * time.Millisecond
)

// Run runs a statement on a connection. rows reports whether the caller has already used a row: then the statement is not run again.
type Run func(ctx context.Context, conn *pgxpool.Conn) (rows bool, err error)

// Statement runs a statement that only reads, up to four times. It ends at the deadline of ctx. When ctx is cancelled, a statement that runs
// is finished, no further one begins, and the error is that of ctx.
func Statement(ctx context.Context, pool *pgxpool.Pool, run Run) error {
	statement, cancel := context.WithoutCancel(ctx), context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		statement, cancel = context.WithDeadline(statement, deadline)
	}
	defer cancel()
	return repeated(ctx, statement, pool, run)
}

// LongStatement is like Statement for a statement that can take long: it is cancelled with ctx. The pool's connections should cancel
// statements without closing.
func LongStatement(ctx context.Context, pool *pgxpool.Pool, run Run) error {
	return repeated(ctx, ctx, pool, run)
}

func repeated(ctx, statement context.Context, pool *pgxpool.Pool, run Run) error {
	for attempt := 1; ; attempt++ {
		rows, err := once(ctx, statement, pool, run)
		if err == nil || rows || attempt == attempts || ctx.Err() != nil {
			return err
		}
		switch {
		case lost(err):
			pool.Reset() // the server has probably closed the idle connections too
		case renamed(err):
		case refused(err):
			if !sleep(ctx, pause) {
				return err
			}
		default:
			return err
		}
	}
}

// renamed reports whether a table was not found. A rebuild can rename the tables of a node between the planning of a
// statement and its execution there.
func renamed(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == pgerrcode.UndefinedTable
}

// once runs the statement unless ctx ended while it waited for a connection.
func once(ctx, statement context.Context, pool *pgxpool.Pool, run Run) (rows bool, err error) {
	conn, err := pool.Acquire(statement)
	if err == nil {
		defer conn.Release()
		if ctx.Err() == nil {
			rows, err = run(statement, conn)
		}
	}
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return rows, err
}

// lost reports whether an established connection has ended.
func lost(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return false
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code == pgerrcode.AdminShutdown || server.Code == pgerrcode.CrashShutdown
	}
	var network *net.OpError
	return errors.As(err, &network) && !network.Timeout() || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// refused reports whether the server refused the password of a new connection.
func refused(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == pgerrcode.InvalidPassword
}

// sleep reports whether ctx lasted.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
