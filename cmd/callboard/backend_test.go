package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/cmd/process"
	"callboard/cmd/setting"
)

// nobody is a database where none is.
func nobody(t *testing.T) setting.Postgres {
	t.Helper()
	var program struct {
		Postgres setting.Postgres `embed:""`
	}
	args := []string{"--postgres-url", "postgres://me@127.0.0.1:1/x"}
	if _, err := setting.Parse(&program, setting.Source{Args: args, Getenv: func(string) string { return "" }, Out: t.Output()}); err != nil {
		t.Fatal(err)
	}
	return program.Postgres
}

// Attempts that end alike are told once.
func TestWithDatabase_Unreachable(t *testing.T) {
	err := withDatabase(t.Context(), nobody(t), func(*pgxpool.Pool) error { return nil })
	if err == nil || strings.Count(err.Error(), "connection refused") != 1 || !strings.HasSuffix(err.Error(), "\nCheck CALLBOARD_POSTGRES_URL, and that the server runs") {
		t.Error(err)
	}
}

func TestWithDatabase_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := withDatabase(ctx, nobody(t), func(*pgxpool.Pool) error { return nil }); !errors.Is(err, errInterrupted) {
		t.Error(err)
	}
	if err := interrupted(ctx, process.ErrFailed); !errors.Is(err, process.ErrFailed) {
		t.Errorf("what was said already: %v", err)
	}
	if err := interrupted(t.Context(), errors.New("x")); err.Error() != "x" {
		t.Errorf("nobody interrupts: %v", err)
	}
}

// A refusal begins with what the command takes.
func TestEntitled(t *testing.T) {
	for code, want := range map[string]string{
		"42501": "ask the owner\nrefused: : x (SQLSTATE 42501)",
		"42P01": "refused: : x (SQLSTATE 42P01)\nThe schema is missing or another release's: run 'callboard migrate'",
		"23505": "refused: : x (SQLSTATE 23505)",
	} {
		refusal := errors.Join(errors.New("refused"), &pgconn.PgError{Code: code, Message: "x"})
		if got := entitled(refusal, "ask the owner").Error(); strings.ReplaceAll(got, "refused\n", "refused: ") != want {
			t.Errorf("%s: %q", code, got)
		}
	}
}
