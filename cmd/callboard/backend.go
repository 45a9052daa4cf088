package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/cmd/connection"
	"callboard/cmd/process"
	"callboard/cmd/setting"
)

// connectTime is how long a command waits for a server that may not be there.
const connectTime = 10 * time.Second

// withDatabase does work on the primary.
func withDatabase(ctx context.Context, s setting.Postgres, work func(*pgxpool.Pool) error) error {
	pool, err := connection.NewPool(ctx, connection.PostgresConfig{URL: s.URL.Get(), Program: "callboard", ReadWrite: true})
	if err != nil {
		return err
	}
	defer pool.Close()
	patience, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := pool.Ping(patience); err != nil {
		return interrupted(ctx, unreachable(err))
	}
	return entitled(interrupted(ctx, work(pool)), "CALLBOARD_POSTGRES_URL must name a user with the rights of callboard_operator")
}

// errInterrupted is the end of a command that was asked to stop.
var errInterrupted = errors.New("interrupted")

// interrupted is the error, or errInterrupted where ctx has ended and the command hasn't said so itself.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.Is(err, errInterrupted) || errors.Is(err, process.ErrFailed) || roomless(err) {
		return err
	}
	return errInterrupted
}

// unreachable says each attempt's end once: there are attempts with encryption and without, and they end alike.
func unreachable(err error) error {
	attempts := slices.Compact(strings.Split(err.Error(), "\n"))
	return fmt.Errorf("PostgreSQL: %s\nCheck CALLBOARD_POSTGRES_URL, and that the server runs", strings.Join(attempts, "\n"))
}

// advised adds to an error of migrating what to do about it.
func advised(err error) error {
	return entitled(err, "CALLBOARD_POSTGRES_URL must name a user who may create roles: 'callboard migrate' makes them")
}

// entitled adds to an error of the database what to do about it. rights is what is said first where the user lacks some.
func entitled(err error, rights string) error {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code {
	case pgerrcode.InvalidSchemaName, pgerrcode.UndefinedTable, pgerrcode.UndefinedColumn:
		return fmt.Errorf("%w\nThe schema is missing or another release's: run 'callboard migrate'", err)
	case pgerrcode.InsufficientPrivilege:
		return fmt.Errorf("%s\n%w", rights, err)
	}
	return err
}

// withStream does work on JetStream.
func withStream(s setting.NATS, work func(jetstream.JetStream) error) error {
	nats, err := connection.NewNATS(connection.NATSConfig{
		URL: s.URL.Get(), Creds: s.Creds.Get(), Name: "callboard", Log: zerolog.Nop(),
	})
	if err != nil {
		return fmt.Errorf("%w\nCheck CALLBOARD_NATS_URL, and that the server runs", err)
	}
	defer nats.Close()
	err = work(nats.JetStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w\n'callboard stream create' makes the stream", err)
	}
	return err
}
