package schematest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"callboard/schema"
	"callboard/schema/cluster"
)

// citusVariable is set where the extension citus is installed: then the tests' databases are those of a Citus cluster.
const citusVariable = "CALLBOARD_TEST_CITUS"

const (
	// WorkerCount is the number of workers beside the coordinator of the tests' databases.
	WorkerCount = 2

	shards = 16
)

// OnCitus tells whether the databases of tests are those of a Citus cluster.
func OnCitus() bool { return os.Getenv(citusVariable) != "" }

// NeedOneServer skips a test that is about one PostgreSQL server where the tests' databases are those of a Citus cluster.
func NeedOneServer(tb testing.TB, why string) {
	tb.Helper()
	if OnCitus() {
		tb.Skip("not on Citus: " + why)
	}
}

// NeedCitus skips a test of a Citus cluster where the extension is not said to be installed.
func NeedCitus(tb testing.TB) {
	tb.Helper()
	if !OnCitus() {
		tb.Skip("needs the extension citus: install it and set " + citusVariable + "=1")
	}
}

// taskCount matches the number of tasks of a part of a plan: how many shards it reads or writes.
var taskCount = regexp.MustCompile(`Task Count: (\d+)`)

// Tasks returns how many parts of a plan are executed on nodes, and whether each of them is one task, that is a single node's.
func Tasks(plan string) (parts int, single bool) {
	single = true
	for _, match := range taskCount.FindAllStringSubmatch(plan, -1) {
		parts++
		single = single && match[1] == "1"
	}
	return parts, single
}

// CitusSettings returns the settings of a server of a Citus cluster.
func CitusSettings() map[string]string {
	return map[string]string{
		"shared_preload_libraries": "citus", "wal_level": "logical", "max_connections": "500", "max_prepared_transactions": "500", "max_worker_processes": "64", "citus.recover_2pc_interval": "2s",
		"citus.local_hostname": "127.0.0.1", "citus.node_conninfo": "sslmode=disable",
	}
}

// Workers are the workers of a Citus cluster, each in a folder whose name begins with that of the cluster.
type Workers struct {
	Servers []*cluster.Cluster
	folders []string
}

// StartWorkers starts workers, whose superuser has the password of the coordinator's.
func StartWorkers(ctx context.Context, count int, folder, password string, settings map[string]string) (*Workers, error) {
	w := new(Workers)
	for n := range count {
		config := cluster.Config{DataDir: fmt.Sprintf("%s-worker-%d", folder, n+1), Password: password, Settings: settings}
		server, err := cluster.Start(ctx, config)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("worker: %w", err), w.Stop())
		}
		w.Servers, w.folders = append(w.Servers, server), append(w.folders, config.DataDir)
	}
	return w, nil
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

// join makes a database of the coordinator, which each worker has too, a database of the cluster. Without workers the coordinator has the rows.
func (w *Workers) join(ctx context.Context, coordinator *cluster.Cluster, database string) error {
	if w == nil {
		return nil
	}
	config, err := pgx.ParseConfig(coordinator.URL(database))
	if err != nil {
		return err
	}
	authenticate := "insert into pg_dist_authinfo values (0, 'postgres', 'password=" + config.Password + "')"
	steps := []string{
		"create extension citus", authenticate, fmt.Sprintf("select citus_set_coordinator_host('127.0.0.1', %d)", coordinator.Port()),
	}
	if len(w.Servers) == 0 {
		steps = append(steps, fmt.Sprintf("select citus_set_node_property('127.0.0.1', %d, 'shouldhaveshards', true)", coordinator.Port()))
	}
	for _, server := range w.Servers {
		if err := execAt(ctx, server.URL(database), "create extension citus", authenticate); err != nil {
			return err
		}
		steps = append(steps, fmt.Sprintf("select citus_add_node('127.0.0.1', %d)", server.Port()))
	}
	return execAt(ctx, coordinator.URL(database), steps...)
}

// Distribute lets the roles, which have a password, connect from each node to the others, and distributes the projection.
func (w *Workers) Distribute(ctx context.Context, coordinator *cluster.Cluster, database, password string) error {
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

// distributeTemplate distributes the projection of the template database, and ends all sessions: others keep it from being copied.
func (s *server) distributeTemplate(ctx context.Context) error {
	if s.workers == nil {
		return nil
	}
	// A distributed table takes no other default.
	if err := execAt(ctx, s.cluster.URL(template), partitionDefaultSQL); err != nil {
		return err
	}
	if err := s.workers.Distribute(ctx, s.cluster, template, s.password); err != nil {
		return err
	}
	const end = "alter database " + template + " with allow_connections false; " +
		"select pg_terminate_backend(pid) from pg_stat_activity where datname = '" + template + "'"
	if err := execAt(ctx, s.cluster.URL("postgres"), end); err != nil {
		return err
	}
	return s.workers.Exec(ctx, end)
}
