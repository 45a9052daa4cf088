package schematest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
	"callboard/schema/cluster"
)

// nodesVariable is set where the extension citus is installed: then the tests' databases are distributed over nodes.
const nodesVariable = "CALLBOARD_TEST_CITUS"

const (
	// WorkerCount is the number of workers beside the coordinator of the tests' databases.
	WorkerCount = 2

	shards = 4 // statements that change tables take a time for each
)

// OnNodes tells whether the databases of tests are distributed over a coordinator and its workers.
func OnNodes() bool { return os.Getenv(nodesVariable) != "" }

// NeedOneServer skips a test that is about one PostgreSQL server where the tests' databases are distributed.
func NeedOneServer(tb testing.TB, why string) {
	tb.Helper()
	if OnNodes() {
		tb.Skip("not on nodes: " + why)
	}
}

// NeedNodes skips a test of distributed databases where the extension is not said to be installed.
func NeedNodes(tb testing.TB) {
	tb.Helper()
	if !OnNodes() {
		tb.Skip("needs the extension citus: install it and set " + nodesVariable + "=1")
	}
}

// taskCount matches the number of tasks of a part of a plan: how many shards it reads or writes.
var taskCount = regexp.MustCompile(`Task Count: (\d+)`)

// Tasks returns how many parts of a plan are executed on nodes, and whether each of them is one task, that is a single
// node's.
func Tasks(plan string) (parts int, single bool) {
	single = true
	for _, match := range taskCount.FindAllStringSubmatch(plan, -1) {
		parts++
		single = single && match[1] == "1"
	}
	return parts, single
}

// Workers are the servers that have the rows of a coordinator's databases. A nil *Workers has none: the server is
// alone.
type Workers struct {
	Servers []*cluster.Cluster
	folders []string
}

// StartServers starts a server, and a number of workers of which it is the coordinator; 0: it is alone.
func StartServers(ctx context.Context, config cluster.Config, workers int) (*cluster.Cluster, *Workers, error) {
	if workers > 0 {
		config.Settings = nodeSettings(config.Settings)
	}
	coordinator, err := cluster.Start(ctx, config)
	if err != nil || workers == 0 {
		return coordinator, nil, err
	}

	// Each worker has a folder beside the coordinator's.
	w := new(Workers)
	folder := config.DataDir
	for n := range workers {
		config.DataDir = fmt.Sprintf("%s-worker-%d", folder, n+1)
		server, err := cluster.Start(ctx, config)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("worker: %w", err), w.Stop(), coordinator.Stop())
		}
		w.Servers, w.folders = append(w.Servers, server), append(w.folders, config.DataDir)
	}
	return coordinator, w, nil
}

// nodeSettings adds to the settings of a server what every node needs. citus has to be the first of the preloaded
// libraries.
func nodeSettings(settings map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, settings)
	maps.Copy(all, map[string]string{
		"shared_preload_libraries": strings.TrimSuffix("citus,"+settings["shared_preload_libraries"], ","),
		"wal_level":                "logical", "max_connections": "500", "max_prepared_transactions": "500", "max_worker_processes": "64",
		"citus.recover_2pc_interval": "2s", "citus.local_hostname": "127.0.0.1", "citus.node_conninfo": "sslmode=disable",
	})
	return all
}

// Stop stops the workers and removes their folders.
func (w *Workers) Stop() (err error) {
	if w == nil {
		return nil
	}
	for n, server := range w.Servers {
		err = errors.Join(err, server.Stop(), remove(w.folders[n]))
	}
	return err
}

// Exec executes a statement on each worker, as the superuser and in the database postgres.
func (w *Workers) Exec(ctx context.Context, sql string) error {
	if w == nil {
		return nil
	}
	for _, server := range w.Servers {
		if err := execAt(ctx, server.URL("postgres"), sql); err != nil {
			return err
		}
	}
	return nil
}

// join makes a database of the coordinator, which each worker has too, a database of the cluster.
func (w *Workers) join(ctx context.Context, coordinator *cluster.Cluster, database string) error {
	if w == nil {
		return nil
	}

	config, err := pgx.ParseConfig(coordinator.URL(database))
	if err != nil {
		return err
	}
	authenticate := "insert into pg_dist_authinfo values (0, 'postgres', 'password=" + config.Password + "')"

	// Each node knows the extension and the password, and the coordinator knows the nodes.
	steps := []string{
		"create extension citus", authenticate, fmt.Sprintf("select citus_set_coordinator_host('127.0.0.1', %d)", coordinator.Port()),
	}
	for _, server := range w.Servers {
		if err := execAt(ctx, server.URL(database), "create extension citus", authenticate); err != nil {
			return err
		}
		steps = append(steps, fmt.Sprintf("select citus_add_node('127.0.0.1', %d)", server.Port()))
	}

	return execAt(ctx, coordinator.URL(database), steps...)
}

// distribute lets the roles, which have a password, connect from each node to the others, and distributes the
// projection.
func (w *Workers) distribute(ctx context.Context, coordinator *cluster.Cluster, database, password string) error {
	if w == nil {
		return nil
	}

	authenticate := fmt.Sprintf(`
		insert into pg_dist_authinfo
		select 0, role, 'password=%s'
		from unnest(array['callboard_projector', 'callboard_reader', 'callboard_operator', 'callboard_webhooks']) role`, password)

	for _, server := range append([]*cluster.Cluster{coordinator}, w.Servers...) {
		if err := execAt(ctx, server.URL(database), authenticate); err != nil {
			return err
		}
	}

	// A distributed table takes no other default, so the tables of tests get it before.
	if err := execAt(ctx, coordinator.URL(database), partitionDefaultSQL); err != nil {
		return err
	}
	_, err := schema.Distribute(ctx, coordinator.URL(database), 0, shards)
	return err
}

func execAt(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	for _, sql := range statements {
		if _, err = conn.Exec(ctx, sql); err != nil {
			break
		}
	}
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}
