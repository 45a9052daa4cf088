package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/cmd/connection"
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
		return unreachable(err)
	}
	return advised(work(pool))
}

func unreachable(err error) error {
	return fmt.Errorf("PostgreSQL: %w\nCheck CALLBOARD_POSTGRES_URL, and that the server runs", err)
}

// advised adds to an error of the database what to do about it.
func advised(err error) error {
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code {
	case "3F000", "42P01", "42703": // no such schema, table, column
		return fmt.Errorf("%w\nThe schema is missing or another release's: run 'callboard migrate'", err)
	case "42501": // insufficient privilege
		return fmt.Errorf("%w\nCALLBOARD_POSTGRES_URL must name a user with the rights of callboard_operator, for 'migrate' one who may create roles;\n"+
			"rebuild, rollback and repair run as the user who ran 'callboard migrate'", err)
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
