package schema_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema"
	"callboard/schema/schematest"
)

// Terminated sessions, idle or not, fail no statement.
func TestRepeat_SessionsTerminated(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	// An acquired connection that was idle for a second would be pinged, and replaced unseen.
	pool, other := schematest.OpenPool(t, database.URL(), func(c *pgxpool.Config) {
		c.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	}), database.Pool(t)
	schematest.OpenAll(t, pool)
	const terminate = `select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
	schematest.Exec(t, other, terminate)
	runs := 0
	for range 10 {
		if err := schema.Repeat(t.Context(), pool, func(ctx context.Context, conn *pgxpool.Conn) (bool, error) {
			runs++
			_, err := conn.Exec(ctx, "select 1")
			return false, err
		}); err != nil {
			t.Fatalf("run %d: error = %v, want none", runs, err)
		}
	}
	if runs == 10 {
		t.Error("no statement was repeated: the sessions were not terminated")
	}
}

// A statement runs again only if its error is that of a connection, no row was used, and the context lasts.
func TestRepeat_Attempts(t *testing.T) {
	t.Parallel()
	pool := schematest.New(t).Pool(t)
	shutdown := &pgconn.PgError{Code: pgerrcode.AdminShutdown}
	for _, c := range []struct {
		name string
		ends bool // the context
		rows bool
		err  error
		want int
	}{
		{"success", false, false, nil, 1},
		{"shutdown", false, false, shutdown, 4},
		{"a refused password", false, false, &pgconn.PgError{Code: pgerrcode.InvalidPassword}, 4},
		{"a connection that was closed before", false, false, pgconn.ErrConnClosed, 4},
		{"a table that a switch has renamed on a node", false, false, &pgconn.PgError{Code: pgerrcode.UndefinedTable}, 4},
		{"a row was used", false, true, shutdown, 1},
		{"the context has ended", true, false, shutdown, 1},
		{"a statement timeout", false, false, &pgconn.PgError{Code: pgerrcode.QueryCanceled}, 1},
		{"another error", false, false, errors.New("x"), 1},
	} {
		runs := 0
		ctx, end := context.WithCancel(t.Context())
		err := schema.Repeat(ctx, pool, func(context.Context, *pgxpool.Conn) (bool, error) {
			runs++
			if c.ends {
				end()
			}
			return c.rows, c.err
		})
		end()
		if runs != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: runs = %d, error = %v, want %d runs and %v", c.name, runs, err, c.want, c.err)
		}
	}
}

// No server is there: that is not repeated, because a request must not wait for it.
func TestRepeat_NoServer(t *testing.T) {
	t.Parallel()
	unused := url.URL{Scheme: "postgres", Host: "127.0.0.1:1", Path: "/x"}
	err := schema.Repeat(t.Context(), schematest.OpenPool(t, unused.String()), func(context.Context, *pgxpool.Conn) (bool, error) {
		t.Error("a statement runs without a connection")
		return false, nil
	})
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		t.Errorf("error = %v, want that of the connection", err)
	}
}
