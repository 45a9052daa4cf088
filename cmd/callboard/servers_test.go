package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/internal/run"
	"callboard/internal/run/setting"
)

// unusedPort returns the settings of a database that does not exist.
func unusedPort(t *testing.T) setting.Postgres {
	t.Helper()
	return parsed[keysListCommand](t, "--postgres-url", "postgres://me@127.0.0.1:1/x").Postgres
}

func TestWithDatabase_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := withDatabase(ctx, unusedPort(t), func(*pgxpool.Pool) error { return nil }); !errors.Is(err, errInterrupted) {
		t.Error(err)
	}
	if err := interrupted(ctx, run.ErrFailed); !errors.Is(err, run.ErrFailed) {
		t.Errorf("printed error: error = %v, want ErrFailed", err)
	}
	if err := interrupted(t.Context(), errors.New("x")); err.Error() != "x" {
		t.Errorf("not interrupted: error = %v, want x", err)
	}
}

// A permission error begins with the rights that the command needs.
func TestWithDatabaseAdvice(t *testing.T) {
	for code, want := range map[string]string{
		"42501": "ask the owner\nrefused: : x (SQLSTATE 42501)",
		"42P01": "refused: : x (SQLSTATE 42P01)\nThe schema is missing or of another release: run 'callboard migrate'",
		"23505": "refused: : x (SQLSTATE 23505)",
	} {
		refusal := errors.Join(errors.New("refused"), &pgconn.PgError{Code: code, Message: "x"})
		if got := withDatabaseAdvice(refusal, "ask the owner").Error(); strings.ReplaceAll(got, "refused\n", "refused: ") != want {
			t.Errorf("SQLSTATE %s: error = %q, want %q", code, got, want)
		}
	}
}
