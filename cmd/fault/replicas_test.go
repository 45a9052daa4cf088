package fault_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// replicas is callboard with three NATS servers, and a PostgreSQL primary with a streaming standby. Projector and reader write to
// whichever of the two accepts writes. The reader reads the projection from the standby while there is one.
type replicas struct {
	*harness
	servers          []*natsServer
	primary, standby *cluster.Cluster
	wal              *eventstest.Proxy // from the primary to the standby
	password         string            // of the roles
	projector        *process
	reader           *reader
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{
		harness: &harness{tb: t, secret: []byte(strings.Repeat("s", 32)), audio: t.TempDir()},
		servers: newNATSCluster(t), password: rand.Text(),
	}
	r.startDatabases(t)
	r.js = eventstest.JetStream(t, r.natsURL())
	r.pool = schematest.OpenPool(t, r.bothURL("postgres", "read-write"))
	r.operator = newProcess(t, "callboard", "callboard", map[string]string{
		"CALLBOARD_NATS_URL": r.natsURL(), "CALLBOARD_POSTGRES_URL": r.bothURL(operatorRole, "read-write"),
	})
	r.createStreams()
	r.load = r.newLoad(seed(t), constant(200))
	r.projector = newProcess(t, "projector", "projector", map[string]string{
		"CALLBOARD_NATS_URL": r.natsURL(), "CALLBOARD_POSTGRES_URL": r.bothURL(projectorRole, "read-write"), "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	})
	r.projector.Start()
	r.reader = &reader{process: newProcess(t, "readapi", "reader", map[string]string{
		"CALLBOARD_NATS_URL": r.natsURL(), "CALLBOARD_POSTGRES_URL": r.bothURL(readerRole, "read-write"),
		"CALLBOARD_POSTGRES_READ_URL": r.bothURL(readerRole, "prefer-standby"), "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
		"CALLBOARD_LISTEN": "127.0.0.1:0", "CALLBOARD_BASE_URL": baseURL, "CALLBOARD_AUDIO_URL": "file://" + r.audio,
		"CALLBOARD_KEY_PEPPER": base64.StdEncoding.EncodeToString(r.secret), "CALLBOARD_CURSOR_KEY": base64.StdEncoding.EncodeToString(r.secret),
	})}
	r.reader.Start()
	return r
}

// newNATSCluster starts three servers that form a cluster.
func newNATSCluster(t *testing.T) (servers []*natsServer) {
	t.Helper()
	var routes []string
	for range 3 {
		routes = append(routes, "nats://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(eventstest.FreePort(t))))
	}
	for i, route := range routes {
		name, port := "nats-"+strconv.Itoa(i+1), eventstest.FreePort(t)
		servers = append(servers, startNATSServer(t, name, port, t.TempDir(),
			"-n", name, "--cluster_name", "callboard", "--cluster", route, "--routes", strings.Join(routes, ",")))
	}
	return servers
}

func (r *replicas) natsURL() string {
	var urls []string
	for _, s := range r.servers {
		urls = append(urls, "nats://"+s.address)
	}
	return strings.Join(urls, ",")
}

// startDatabases starts the primary, migrates it, and makes the standby with pg_basebackup.
func (r *replicas) startDatabases(t *testing.T) {
	t.Helper()
	r.primary = schematest.NewCluster(t, nil)
	if err := schematest.CreateDatabase(t.Context(), r.primary, nil, liveDatabase, "", r.password); err != nil {
		t.Fatal(err)
	}
	r.wal = eventstest.NewProxy(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(r.primary.Port())))
	source, err := url.Parse(r.primary.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	source.Host = r.wal.Addr()
	r.standby = schematest.NewStandby(t, source.String(), nil)
}

// bothURL names both servers, of which the client uses one with the attributes.
func (r *replicas) bothURL(role, attributes string) string {
	password := r.password
	if role == "postgres" {
		u, _ := url.Parse(r.primary.URL(liveDatabase)) // it is a URL
		password, _ = u.User.Password()
	}
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable&target_session_attrs=%s",
		role, password, r.primary.Port(), r.standby.Port(), liveDatabase, attributes)
}

// execute executes a statement as the superuser of one server.
func (r *replicas) execute(server *cluster.Cluster, statement string) {
	r.tb.Helper()
	conn := r.connect(server)
	defer closeConn(conn)
	schematest.Exec(r.tb, conn, statement)
}

func (r *replicas) connect(server *cluster.Cluster) *pgx.Conn {
	r.tb.Helper()
	return connect(r.tb, server, liveDatabase)
}

// createStreams creates the streams with three replicas, as soon as the cluster has elected its leader.
func (r *replicas) createStreams() {
	r.tb.Helper()
	eventstest.Eventually(r.tb, "the cluster has a leader", func() bool {
		ctx, cancel := r.attempt()
		defer cancel()
		_, err := r.js.AccountInfo(ctx)
		return err == nil
	})
	eventstest.Eventually(r.tb, "the streams are created", func() bool {
		c := r.startCommand("stream", "create", "--replicas", "3", "--partitions", strconv.Itoa(partitions))
		return c.wait() == 0
	})
}

// awaitReplicated waits until the standby has applied what the primary has committed so far.
func (r *replicas) awaitReplicated() {
	r.tb.Helper()
	conn := r.connect(r.primary)
	defer closeConn(conn)
	written := schematest.QueryOne[string](r.tb, conn, "select pg_current_wal_lsn()::text")
	standby := r.connect(r.standby)
	defer closeConn(standby)
	eventstest.Eventually(r.tb, "the standby has applied what the primary has written", func() bool {
		return schematest.QueryOne[bool](r.tb, standby, "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", written)
	})
}

// positions returns the sum of a server's positions.
func (r *replicas) positions(server *cluster.Cluster) int64 {
	r.tb.Helper()
	conn := r.connect(server)
	defer closeConn(conn)
	return schematest.QueryOne[int64](r.tb, conn, "select sum(sequence)::bigint from projection.position")
}

// failOver kills the primary and promotes the standby.
func (r *replicas) failOver() {
	r.tb.Helper()
	r.primary.Kill()
	r.execute(r.standby, "select pg_promote()")
	r.pool.Reset() // its connections lead to the lost server
}

func (r *replicas) registry() *access.Registry { return access.NewRegistry(r.pool, r.pepper()) }

// isRevoked tells whether a server has the revocation of a key.
func (r *replicas) isRevoked(server *cluster.Cluster, key access.IssuedKey) bool {
	r.tb.Helper()
	conn := r.connect(server)
	defer closeConn(conn)
	return schematest.QueryOne[bool](r.tb, conn, "select revoked_at is not null from access.key where id = $1", key.ID)
}

func (r *replicas) issueKey() access.IssuedKey {
	r.tb.Helper()
	issued, err := r.registry().Issue(r.tb.Context(), access.KeySpec{
		Name: "replicas", Grant: access.Grant{Kind: access.GrantSystem, ID: uuid.New()}, Scopes: access.Scopes(),
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	return issued
}

// status returns the status of the reader's answer to a key; 0 without an answer.
func (r *replicas) status(key access.IssuedKey) int {
	r.tb.Helper()
	request, err := http.NewRequestWithContext(r.tb.Context(), http.MethodGet, *r.reader.url.Load(), nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	request.Header.Set("X-API-Key", key.Key.Reveal())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// awaitStatus waits until the reader answers a key with a status.
func (r *replicas) awaitStatus(key access.IssuedKey, want int) {
	r.tb.Helper()
	got := 0
	eventstest.Eventually(r.tb, fmt.Sprintf("the reader answers key %s with %d", key.ID, want), func() bool {
		got = r.status(key)
		return got == want
	})
}

// acknowledgedEntries returns the ids of the audit entries that NATS has acknowledged: the stream keeps them.
func (r *replicas) acknowledgedEntries() (ids []uuid.UUID) {
	r.tb.Helper()
	ctx := r.tb.Context() // each request has the client's timeout
	stream, err := r.js.Stream(ctx, audit.StreamName)
	if err != nil {
		r.tb.Fatal(err)
	}
	state := stream.CachedInfo().State
	for sequence := state.FirstSeq; sequence <= state.LastSeq && state.Msgs > 0; sequence++ {
		m, err := stream.GetMsg(ctx, sequence)
		if err != nil {
			r.tb.Fatal(err)
		}
		entries, err := audit.Decode(m.Data)
		if err != nil {
			r.tb.Fatal(err)
		}
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// notAudited returns how many acknowledged audit entries a server lacks.
func (r *replicas) notAudited(server *cluster.Cluster) int64 {
	r.tb.Helper()
	conn := r.connect(server)
	defer closeConn(conn)
	const query = "select count(*) from unnest($1::uuid[]) e (id) where not exists (select from access.audit a where a.id = e.id)"
	return schematest.QueryOne[int64](r.tb, conn, query, r.acknowledgedEntries())
}

// awaitAudited waits until the server that takes writes has every acknowledged audit entry.
func (r *replicas) awaitAudited() {
	r.tb.Helper()
	eventstest.Eventually(r.tb, "every acknowledged audit entry is stored", func() bool {
		ids := r.acknowledgedEntries()
		const query = "select count(*) from unnest($1::uuid[]) e (id) where exists (select from access.audit a where a.id = e.id)"
		var stored int
		return r.pool.QueryRow(r.tb.Context(), query, ids).Scan(&stored) == nil && stored == len(ids)
	})
}
