package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/internal/run"
	"callboard/internal/run/connection"
	"callboard/internal/run/setting"
	"callboard/schema"
)

// connectTimeout limits the first connection to PostgreSQL.
const connectTimeout = 10 * time.Second

// withDatabase does work on the primary, which may take as long as it needs.
func withDatabase(ctx context.Context, s setting.Postgres, work func(*pgxpool.Pool) error) error {
	pool, err := connection.NewPool(ctx, connection.PostgresConfig{
		URL: s.URL, Program: "callboard", ReadWrite: true,
		Settings: schema.MaintenanceSettings(), AfterConnect: schema.LiftTransactionTimeout,
	})
	if err != nil {
		return err
	}
	defer pool.Close()

	// Only the first connection has a limit of time. The work may take as long as it needs.
	pingCtx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := pool.Ping(pingCtx); err != nil {
		return interrupted(ctx, connectError(err))
	}

	return withDatabaseAdvice(interrupted(ctx, work(pool)), "CALLBOARD_POSTGRES_URL must name a user with the "+
		"rights of callboard_operator")
}

// errInterrupted is the error of a command that was asked to stop.
var errInterrupted = errors.New("interrupted")

// interrupted replaces an error that the end of ctx has caused by errInterrupted. It keeps an error that was printed,
// or that [outlastsInterruption]. A command that has committed something wraps errInterrupted and says what.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, errInterrupted) || errors.Is(err, run.ErrFailed) ||
		outlastsInterruption(err) {
		return err
	}
	return errInterrupted
}

// connectError removes repeated lines from the error of a connection: pgx has a line for each attempt, with and without
// TLS.
func connectError(err error) error {
	attempts := slices.Compact(strings.Split(err.Error(), "\n"))
	advice := "Check CALLBOARD_POSTGRES_URL, and that the server runs"
	if schema.HasCode(err, pgerrcode.TooManyConnections) {
		advice = "Raise the server's max_connections, or lower the pool sizes of the programs"
	}
	return fmt.Errorf("PostgreSQL: %s\n%s", strings.Join(attempts, "\n"), advice)
}

// withDatabaseAdvice adds what to do to an error of the database. The first line of a permission error is rights.
func withDatabaseAdvice(err error, rights string) error {
	switch {
	case schema.HasCode(err, pgerrcode.InvalidSchemaName, pgerrcode.UndefinedTable, pgerrcode.UndefinedColumn,
		pgerrcode.UndefinedFunction):
		return fmt.Errorf("%w\nThe schema is missing or of another release: run 'callboard migrate'", err)
	case schema.HasCode(err, pgerrcode.InsufficientPrivilege):
		return fmt.Errorf("%s\n%w", rights, err)
	}
	return err
}

// withOwnerAdvice adds to a permission error that only the schemas' owner may do this. The error is not wrapped, so
// that withDatabaseAdvice does not add the rights that other commands need.
func withOwnerAdvice(err error) error {
	return errors.New("this command must run as the schemas' owner: " +
		"set CALLBOARD_POSTGRES_URL to the user who ran 'callboard migrate'\n" + err.Error())
}

// withStream does work on JetStream.
func withStream(s setting.NATS, work func(jetstream.JetStream) error) error {
	nats, err := connection.NewNATS(connection.NATSConfig{NATS: s, Name: "callboard"})
	if err != nil {
		return fmt.Errorf("%w\nCheck CALLBOARD_NATS_URL, and that the server runs", err)
	}
	defer nats.Close()
	err = work(nats.JetStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w\nRun 'callboard stream create' to create the stream", err)
	}
	return err
}

// withServers does work on JetStream and on the primary.
func withServers(
	ctx context.Context, nats setting.NATS, postgres setting.Postgres,
	work func(jetstream.JetStream, *pgxpool.Pool) error,
) error {
	return withStream(nats, func(js jetstream.JetStream) error {
		return withDatabase(ctx, postgres, func(pool *pgxpool.Pool) error { return work(js, pool) })
	})
}

// openStream finds a stream. Its error names the stream.
func openStream(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	return stream, nil
}
