package readapi

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// Statements of one page that are answered by servers which lag differently never show names of two commits.
func TestReports_NamesFromReplicas(t *testing.T) {
	schematest.NeedOneServer(t, "a copy of the coordinator has no workers")
	t.Parallel()
	database := schematest.NewWithSettings(t, nil)
	o := newNamesFixtureIn(t, database)
	standby := schematest.NewStandby(t, database.Cluster().URL("postgres"), map[string]string{"max_connections": "200"})
	readers := o.startReaders(newReportQueries(t, openBoth(t, database, standby)))
	defer readers.stop()
	replay := schematest.OpenPool(t, standby.URL("postgres"))
	for name := 1; (readers.pages.Load() < 3_000 || readers.late.Load() == 0) && !t.Failed(); name++ {
		o.rename("projection", name)
		readers.committed.Store(int64(name))
		switch name % 20 {
		case 0:
			execute(t, replay, "select pg_wal_replay_pause()")
		case 10:
			execute(t, replay, "select pg_wal_replay_resume()")
		}
	}
	execute(t, replay, "select pg_wal_replay_resume()")
}

// openBoth returns a reader's pool whose connections are to both servers in turn.
func openBoth(tb testing.TB, primary *schematest.Database, standby *cluster.Cluster) *pgxpool.Pool {
	tb.Helper()
	var opened atomic.Int64
	pool := schematest.OpenPoolLike(tb, openReader(tb, primary), func(config *pgxpool.Config) {
		config.MaxConns = 4
		ports := [2]uint16{config.ConnConfig.Port, uint16(standby.Port())}
		config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
			c.Port = ports[opened.Add(1)%2]
			return nil
		}
	})
	schematest.OpenAll(tb, pool)
	return pool
}

func execute(tb testing.TB, pool *pgxpool.Pool, sql string) {
	tb.Helper()
	schematest.Exec(tb, pool, sql)
}
