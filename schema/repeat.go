package schema

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
	repetitions = 4

	// passwordPause is the time in which the operator's next step, the new password in a file or in the database, takes
	// effect.
	passwordPause = 200 * time.Millisecond
)

// Statement runs a statement on a connection. rows tells whether the caller has already used a row: then the statement
// is not run again.
type Statement func(ctx context.Context, conn *pgxpool.Conn) (rows bool, err error)

// Repeat runs a statement that only reads, up to four times: again when its connection was lost, or could not be made
// because a password is being replaced. So a new password fails no request, and the end of the database's sessions
// fails only statements that have returned rows.
//
// It ends at the deadline of ctx. When ctx is cancelled, a statement that runs is finished, and the error is that of
// ctx: to cancel the statement would close the connection, and clients that come and go could hold a pool.
func Repeat(ctx context.Context, pool *pgxpool.Pool, run Statement) error {
	statement, cancel := context.WithoutCancel(ctx), context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		statement, cancel = context.WithDeadline(statement, deadline)
	}
	defer cancel()
	return repeat(ctx, statement, pool, run)
}

// RepeatLong is [Repeat] for a statement that can take long: it is cancelled with ctx. The pool's connections should
// cancel statements without closing.
func RepeatLong(ctx context.Context, pool *pgxpool.Pool, run Statement) error {
	return repeat(ctx, ctx, pool, run)
}

func repeat(ctx, statement context.Context, pool *pgxpool.Pool, run Statement) error {
	for attempt := 1; ; attempt++ {
		rows, err := runOnce(ctx, statement, pool, run)
		if err == nil || rows || attempt == repetitions || ctx.Err() != nil {
			return err
		}

		switch {
		case connectionLost(err):
			pool.Reset() // the server has probably closed the idle connections too
		case HasCode(err, pgerrcode.UndefinedTable):
			// A rebuild can rename the tables of a node between the planning of a statement and its execution there.

		case HasCode(err, pgerrcode.InvalidPassword):
			select {
			case <-ctx.Done():
				return err
			case <-time.After(passwordPause):
			}

		default:
			return err
		}
	}
}

// runOnce runs the statement unless ctx ended while it waited for a connection.
func runOnce(ctx, statement context.Context, pool *pgxpool.Pool, run Statement) (rows bool, err error) {
	conn, err := pool.Acquire(statement)
	if err == nil {
		defer conn.Release()
		if ctx.Err() == nil {
			rows, err = run(statement, conn)
		}
	}

	// The caller gets the error of ctx even if the statement has succeeded.
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return rows, err
}

// connectionLost tells whether an established connection has ended.
func connectionLost(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return false
	}

	// A server that shuts down says why it ends the session.
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code == pgerrcode.AdminShutdown || server.Code == pgerrcode.CrashShutdown
	}

	var network *net.OpError
	return errors.As(err, &network) && !network.Timeout() || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
