package fault_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
	"callboard/readapi/access"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// replicas is callboard with three NATS servers, and a PostgreSQL primary with a streaming standby. Projector and
// reader write to whichever of the two accepts writes. The reader reads the projection from the standby while there
// is one.
type replicas struct {
	*harness
	servers          []*natsServer
	primary, standby *cluster.Cluster
	wal              *eventstest.Proxy // from the primary to the standby
	password         string            // of the roles
	projector        *process
	reader           *reader
	events           *eventSource
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
	r.events = newEventSource(t, r.js)
	env := func(role string) map[string]string {
		return map[string]string{
			"CALLBOARD_NATS_URL": r.natsURL(), "CALLBOARD_POSTGRES_URL": r.bothURL(role, "read-write"), "CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
		}
	}
	r.projector = newProcess(t, "projector", "projector", env(projectorRole))
	r.projector.Start()
	settings := env(readerRole)
	settings["CALLBOARD_POSTGRES_READ_URL"] = r.bothURL(readerRole, "prefer-standby")
	maps.Copy(settings, r.readerSettings())
	r.reader = &reader{process: newProcess(t, "readapi", "reader", settings)}
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
	stream, err := r.js.Stream(ctx, events.AuditStream)
	if err != nil {
		r.tb.Fatal(err)
	}
	state := stream.CachedInfo().State
	for sequence := state.FirstSeq; sequence <= state.LastSeq && state.Msgs > 0; sequence++ {
		m, err := stream.GetMsg(ctx, sequence)
		if err != nil {
			r.tb.Fatal(err)
		}
		entries, err := events.DecodeAudit(m.Data)
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

// eventSource publishes numbered events of a sample company.
type eventSource struct {
	tb           testing.TB
	js           jetstream.JetStream
	publisher    *events.Publisher
	next         func() (events.Event, bool)
	acknowledged atomic.Int64 // the events 1 to this one
}

func newEventSource(tb testing.TB, js jetstream.JetStream) *eventSource {
	tb.Helper()
	company := sample.New(sample.Config{Seed: 1, Systems: 6, Calls: 250, Days: 4, Until: historyEnd()})
	next, stop := iter.Pull(companyEvents(company))
	tb.Cleanup(stop)
	return &eventSource{tb: tb, js: js, publisher: events.NewPublisher(js, "fault"), next: next}
}

// publish returns when the stream has acknowledged the next events.
func (s *eventSource) publish(ctx context.Context, count int) error {
	batch, first := make([]events.Event, count), int(s.acknowledged.Load())+1
	for i := range batch {
		batch[i], _ = s.next() // it has no end
		batch[i].ID = strconv.Itoa(first + i)
	}
	if err := s.publisher.Publish(ctx, batch...); err != nil {
		return err
	}
	s.acknowledged.Add(int64(count))
	return nil
}

func (s *eventSource) mustPublish(count int) {
	s.tb.Helper()
	if err := s.publish(s.tb.Context(), count); err != nil {
		s.tb.Fatal(err)
	}
}

// start publishes in the background until stop is called, or until the test ends.
func (s *eventSource) start() (stop func()) {
	var ending atomic.Bool
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(loadInterval)
		defer tick.Stop()
		for !ending.Load() {
			if err := s.publish(s.tb.Context(), 10); err != nil {
				done <- err
				return
			}
			<-tick.C
		}
		done <- nil
	}()
	stop = sync.OnceFunc(func() {
		ending.Store(true)
		if err := <-done; err != nil {
			s.tb.Errorf("publish: %v", err)
		}
	})
	s.tb.Cleanup(stop)
	return stop
}

// awaitAcknowledged waits until the stream has acknowledged more events.
func (s *eventSource) awaitAcknowledged(more int64) {
	s.tb.Helper()
	now := s.acknowledged.Load()
	// After a fault the first one can take as long as the stream remembers duplicates, two minutes.
	for _, count := range []int64{1, more} {
		eventstest.EventuallyWithin(s.tb, 6*time.Minute, fmt.Sprintf("%d more events are acknowledged", count), func() bool { return s.acknowledged.Load() >= now+count })
	}
}

// checkStream checks that the stream has every acknowledged event once.
func (s *eventSource) checkStream(stream jetstream.Stream) {
	s.tb.Helper()
	var consumer jetstream.Consumer
	refused := ""
	eventstest.Eventually(s.tb, "NATS creates a consumer", func() bool {
		var err error
		consumer, err = stream.OrderedConsumer(s.tb.Context(), jetstream.OrderedConsumerConfig{HeadersOnly: true})
		if err != nil && err.Error() != refused {
			refused = err.Error()
			s.tb.Logf("creating a consumer: %s", refused)
		}
		return err == nil
	})
	messages, err := consumer.Messages()
	if err != nil {
		s.tb.Fatal(err)
	}
	defer messages.Stop()
	times := map[string]int{}
	for range stream.CachedInfo().State.Msgs {
		m, err := messages.Next(jetstream.NextMaxWait(time.Minute))
		if err != nil {
			s.tb.Fatal(err)
		}
		times[m.Headers().Get("ce-id")]++
	}
	for i := range s.acknowledged.Load() {
		if id := strconv.FormatInt(i+1, 10); times[id] != 1 {
			s.tb.Errorf("event %s is in the stream %d times, want once", id, times[id])
		}
	}
}
