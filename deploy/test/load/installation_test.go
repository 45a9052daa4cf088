//go:build linux

package load_test

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/readapi/access"
	"callboard/readapi/limit"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

const (
	baseURL = "https://phones.example.com/v1"

	// natsConfig has what deploy/nats.conf says about durability.
	natsConfig = `listen: "127.0.0.1:-1"
max_payload: 8MB
jetstream { store_dir: %q, sync_interval: %s }
`
)

// installation is NATS, PostgreSQL and a projector as processes, all of which write to disk before they
// acknowledge, but for NATS with natsSync.
type installation struct {
	testing.TB
	topology
	company         *sample.Company
	nats, projector *process
	natsServers     []*process // all; the first one is nats
	natsURL         string     // of all
	postgres        *cluster.Cluster
	workers         *schematest.Workers // over which the projection is distributed; nil: the server is alone
	postmaster      int                 // the server's process id
	workerProcesses []int               // those of the workers
	database        string
	pool            *pgxpool.Pool // of the superuser, to the database
	js              jetstream.JetStream
	publisher       *events.Publisher
	registry        *access.Registry
	password        string // of the roles
	secret          []byte // the pepper of keys, and the key of cursors and links
}

// topology is how many servers an installation has.
type topology struct {
	name    string
	nats    int
	workers int // PostgreSQL servers over which the projection is distributed; 0: one server has everything

	natsSync string // when NATS writes messages to disk; empty: each one before it acknowledges it
}

// usual is the topology of all measurements but those of other topologies.
func usual() topology {
	if schematest.OnNodes() {
		return topology{name: "a coordinator and two workers", nats: 1, workers: schematest.WorkerCount}
	}
	return topology{name: "one server of each", nats: 1}
}

// replayed is the usual topology for measurements of a stream that is published before they begin. Publishing it
// takes a quarter of the time.
func replayed() topology {
	n := usual()
	n.natsSync = "1m"
	return n
}

// newInstallation starts an installation and publishes a company's events, which the projector has applied when it
// returns. settings are PostgreSQL's.
func newInstallation(tb testing.TB, company *sample.Company, settings map[string]string) *installation {
	tb.Helper()
	return startServers(tb, company, settings).project()
}

// project creates a database, starts a projector, and publishes the company's events, which the projector has
// applied when it returns.
func (i *installation) project() *installation {
	i.Helper()
	i.newDatabase("callboard")
	i.startProjector()
	began := time.Now()
	published, err := sample.Publish(i.Context(), i.publisher, i.company, 0, func(sample.Counts) {})
	if err != nil {
		i.Fatal(err)
	}
	i.awaitApplied(int64(published.Events))
	i.exec("vacuum analyze")
	i.exec("checkpoint")
	i.Logf("%d calls in %d phone systems, %d events: published and applied in %s", published.Calls, len(i.company.Systems()),
		published.Events, time.Since(began).Round(time.Second))
	return i
}

// startServers starts NATS with empty streams, and PostgreSQL without a database.
func startServers(tb testing.TB, company *sample.Company, settings map[string]string) *installation {
	tb.Helper()
	return usual().start(tb, company, settings)
}

func (n topology) start(tb testing.TB, company *sample.Company, settings map[string]string) *installation {
	tb.Helper()
	i := &installation{TB: tb, topology: n, company: company, password: rand.Text(), secret: []byte(strings.Repeat("s", 32))}
	i.startPostgres(settings)
	i.startNATS()
	return i
}

func (i *installation) startProjector() {
	i.Helper()
	i.projector = startProcess(i, "projector", programs.Path(i, "projector"), i.env("callboard_projector"))
}

func (i *installation) startPostgres(settings map[string]string) {
	i.Helper()
	dir := filepath.Join(i.TempDir(), "postgres")
	all := map[string]string{
		"fsync": "on", "full_page_writes": "on", "max_connections": "200", "max_wal_size": "4GB", "shared_buffers": "512MB",
	}
	maps.Copy(all, settings)
	config := cluster.Config{DataDir: dir, Password: i.password, Settings: all}
	var err error
	if i.postgres, i.workers, err = schematest.StartServers(i.Context(), config, i.topology.workers); err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() {
		if err := errors.Join(i.workers.Stop(), i.postgres.Stop(), cluster.Remove(dir)); err != nil {
			i.Error(err)
		}
	})
	i.postmaster = i.processOf(i.postgres)
	if i.workers != nil {
		for _, worker := range i.workers.Servers {
			i.workerProcesses = append(i.workerProcesses, i.processOf(worker))
		}
	}
}

// processOf returns the process id of a PostgreSQL server.
func (i *installation) processOf(server *cluster.Cluster) int {
	i.Helper()
	admin := schematest.OpenPool(i, server.URL("postgres"))
	defer admin.Close()
	folder := schematest.QueryOne[string](i, admin, "show data_directory")
	file, err := os.ReadFile(filepath.Join(folder, "postmaster.pid"))
	if err != nil {
		i.Fatal(err)
	}
	first, _, _ := strings.Cut(string(file), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		i.Fatal(err)
	}
	return pid
}

// newDatabase creates the database that is used from now on.
func (i *installation) newDatabase(name string) {
	i.Helper()
	if err := schematest.CreateDatabase(i.Context(), i.postgres, i.workers, name, "", i.password); err != nil {
		i.Fatal(err)
	}
	pepper, err := access.NewPepper(i.secret)
	if err != nil {
		i.Fatal(err)
	}
	i.database, i.pool = name, schematest.OpenPool(i, i.postgres.URL(name))
	i.registry = access.NewRegistry(i.pool, pepper)
}

// dropDatabase drops the database and ends its connections.
func (i *installation) dropDatabase() {
	i.Helper()
	i.pool.Close()
	admin := schematest.OpenPool(i, i.postgres.URL("postgres"))
	defer admin.Close()
	_, err := admin.Exec(i.Context(), "drop database "+i.database+" with (force)")
	if err == nil {
		err = i.workers.Exec(i.Context(), "drop database "+i.database+" with (force)")
	}
	if err != nil {
		i.Fatal(err)
	}
}

// startNATS starts the servers with the streams of production.
func (i *installation) startNATS() {
	i.Helper()
	arguments := make([][]string, i.topology.nats)
	if i.topology.nats > 1 {
		arguments = i.clusterArguments()
	}
	for n := range i.topology.nats {
		folder := i.TempDir()
		config := filepath.Join(folder, "nats.conf")
		if err := os.WriteFile(config, fmt.Appendf(nil, natsConfig, filepath.Join(folder, "store"), cmp.Or(i.natsSync, "always")), 0o600); err != nil {
			i.Fatal(err)
		}
		i.natsServers = append(i.natsServers, startProcess(i, fmt.Sprintf("nats-server-%d", n+1), programs.Path(i, "nats-server"), nil,
			append([]string{"-c", config}, arguments[n]...)...))
	}
	i.nats = i.natsServers[0]
	var urls []string
	for _, server := range i.natsServers {
		urls = append(urls, "nats://"+server.Await(`Listening for client connections on (\S+)`)[1])
	}
	for _, server := range i.natsServers {
		server.Await("Server is ready")
	}
	i.natsURL = strings.Join(urls, ",")
	i.js = eventstest.JetStream(i, i.natsURL)

	// The servers of a cluster may not know each other yet, or elect a leader.
	replicas := i.topology.nats
	eventstest.Eventually(i, "the streams are created", func() bool {
		_, err := events.EnsureBucket(i.Context(), i.js, replicas)
		for _, config := range []jetstream.StreamConfig{
			events.StreamConfig(events.StreamName, events.DefaultPartitions, replicas),
			events.KeyStreamConfig(replicas), events.AuditStreamConfig(replicas), limit.StreamConfig(replicas),
		} {
			if err == nil {
				_, err = events.EnsureStream(i.Context(), i.js, config)
			}
		}
		return err == nil
	})
	i.publisher = events.NewPublisher(i.js, "load")
}

// clusterArguments returns the arguments by which each server joins the others.
func (i *installation) clusterArguments() (arguments [][]string) {
	i.Helper()
	var routes []string
	for range i.topology.nats {
		routes = append(routes, "nats://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(eventstest.FreePort(i))))
	}
	for n, route := range routes {
		arguments = append(arguments, []string{
			"-n", fmt.Sprintf("nats-%d", n+1), "--cluster_name", "load", "--cluster", route, "--routes", strings.Join(routes, ","),
		})
	}
	return arguments
}

func (i *installation) env(role string) map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL": i.natsURL, "CALLBOARD_POSTGRES_URL": i.postgres.UserURL(role, i.password, i.database),
		"CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0", "GOMEMLIMIT": "461MiB", // as it is deployed
	}
}

// awaitApplied waits until the projector has read a number of messages.
func (i *installation) awaitApplied(total int64) {
	i.Helper()
	read := func() int64 {
		return query[int64](i, "select coalesce(sum(read), 0)::bigint from projection.message_count")
	}
	for n := read(); n < total; {
		before := n
		eventstest.Eventually(i, "further messages are applied", func() bool {
			n = read()
			return n > before
		})
	}
}

// exec executes a statement as the superuser.
func (i *installation) exec(sql string) {
	i.Helper()
	schematest.Exec(i, i.pool, sql)
}

// query returns the first column of a query's only row.
func query[T any](i *installation, sql string, arguments ...any) T {
	i.Helper()
	return schematest.QueryOne[T](i, i.pool, sql, arguments...)
}

// reader is a reader that runs as a process.
type reader struct {
	*process
	url   string // of the phone systems
	admin string
}

// startReader starts a reader with additional settings, and waits until it is ready.
func (i *installation) startReader(name string, settings map[string]string) *reader {
	i.Helper()
	env := i.env("callboard_reader")
	maps.Copy(env, map[string]string{
		"CALLBOARD_BASE_URL": baseURL, "CALLBOARD_LISTEN": "127.0.0.1:0", "CALLBOARD_AUDIO_URL": "file://" + i.TempDir(),
		"CALLBOARD_KEY_PEPPER": base64.StdEncoding.EncodeToString(i.secret), "CALLBOARD_CURSOR_KEY": base64.StdEncoding.EncodeToString(i.secret),
	})
	maps.Copy(env, settings)
	r := &reader{process: startProcess(i, name, programs.Path(i, "readapi"), env)}
	addresses := r.Await(`"public":"([^"]+)","admin":"([^"]+)"`)
	r.url, r.admin = "http://"+addresses[1]+"/v1/customer/phone-systems", "http://"+addresses[2]
	eventstest.Eventually(i, name+" is ready", func() bool {
		status, _, err := get(i.Context(), http.DefaultClient, r.admin+"/readyz", "")
		return err == nil && status == http.StatusOK
	})
	return r
}

// issueKeys issues a key for each of the phone systems.
func (i *installation) issueKeys(tier access.Tier, systems ...uuid.UUID) []access.IssuedKey {
	i.Helper()
	keys := make([]access.IssuedKey, len(systems))
	var all errgroup.Group
	all.SetLimit(8)
	for n, system := range systems {
		all.Go(func() (err error) {
			keys[n], err = i.registry.Issue(i.Context(), access.KeySpec{
				Name: "load", Grant: access.Grant{Kind: access.GrantSystem, ID: system}, Scopes: access.Scopes(), Tier: tier,
			})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		i.Fatal(err)
	}
	return keys
}
