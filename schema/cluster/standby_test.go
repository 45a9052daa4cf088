package cluster

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/events/eventstest"
)

// A standby has what its primary commits. Promoted, it accepts writes, and a restart leaves it promoted.
func TestStart_Standby(t *testing.T) {
	t.Parallel()
	primary := start(t, newFolder(t))
	standby, err := Start(t.Context(), Config{DataDir: newFolder(t), Primary: primary.URL("postgres")})
	if errors.Is(err, fs.ErrNotExist) {
		stop(t, primary)
		t.Skip("this PostgreSQL has no pg_basebackup")
	}
	if err != nil {
		t.Fatal(err)
	}
	execute(t, primary, "create table survivor ()")
	eventstest.Eventually(t, "the standby has the table", func() bool {
		return queryBool(t, standby, "select to_regclass('survivor') is not null")
	})
	primary.Kill()
	execute(t, standby, "select pg_promote()")
	if err := standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, standby, "drop table survivor")
	stop(t, standby)
	stop(t, primary)
}

// An error shows neither the primary's password nor its port.
func TestStart_StandbyWithoutPrimary(t *testing.T) {
	t.Parallel()
	primary := start(t, newFolder(t))
	primary.Kill()
	_, err := Start(t.Context(), Config{DataDir: newFolder(t), Primary: primary.URL("postgres")})
	if !errors.Is(err, fs.ErrNotExist) {
		mustContain(t, err, "pg_basebackup")
	}
	mustHideSecrets(t, err, primary)
	stop(t, primary)
}

func queryBool(t *testing.T, c *Cluster, query string) (result bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), query).Scan(&result); err != nil {
		t.Error(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return result
}
