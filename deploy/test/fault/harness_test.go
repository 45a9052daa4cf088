package fault_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

const (
	liveDatabase = "live" // the one that the programs use
	partitions   = 8
	premium      = 6000 // requests per minute, more than the clients make
	baseURL      = "https://phones.example.com/v1"
)

// harness runs callboard as operators do: NATS, PostgreSQL, two projectors and two readers as processes, connected
// through proxies.
type harness struct {
	tb     testing.TB
	random *rand.Rand // draws the faults
	soak   bool       // some faults last longer than connections tolerate

	nats     *natsServer
	postgres *postgresServer
	js       jetstream.JetStream // a direct connection, as the pool has
	pool     *pgxpool.Pool

	natsProxies, postgresProxies proxies

	projectors []*process
	readers    []*reader
	operator   *process // callboard

	secret  []byte // the pepper of keys, and the key of cursors and links
	audio   string // the folder of the recordings' audio
	keys    *keySet
	load    *load
	summary *summary

	replicas      int           // of the streams; 0: 1
	streamName    string        // empty: events.StreamName
	rebuildTime   time.Duration // how long the last complete rebuild took
	postgresStops int
}

// proxies are those of the projectors and of the readers to one server.
type proxies struct {
	projectors, readers *proxy
}

// newHarness has failpoints and one server of each.
func newHarness(t *testing.T, seed uint64, r rate) *harness {
	t.Helper()
	h := prepareHarness(t, seed)
	h.nats, h.postgres, h.rebuildTime = newNATSServer(t), newPostgresServer(t), 2*time.Second
	h.createDatabase()
	h.postgres.exec(liveDatabase, failpointSQL)
	h.installFailpoints()
	h.start(seed, r)
	return h
}

// newClusterHarness has three NATS servers, with three replicas of the streams. The first one is never killed.
func newClusterHarness(t *testing.T, seed uint64, r rate) *harness {
	t.Helper()
	h := prepareHarness(t, seed)
	h.nats, h.postgres, h.replicas = newNATSCluster(t)[0], newPostgresServer(t), 3
	h.createDatabase()
	h.start(seed, r)
	return h
}

// prepareHarness returns a harness without servers.
func prepareHarness(t *testing.T, seed uint64) *harness {
	t.Helper()
	return &harness{
		tb: t, random: rand.New(rand.NewPCG(seed, 1)), secret: []byte(strings.Repeat("s", 32)), audio: t.TempDir(), summary: newSummary(),
	}
}

// startProxies starts the proxies to a NATS server and to PostgreSQL.
func (h *harness) startProxies(nats string) {
	h.tb.Helper()
	postgres := net.JoinHostPort("127.0.0.1", strconv.Itoa(h.postgres.Port()))
	h.natsProxies = proxies{newProxy(h.tb, "projectors-NATS", nats), newProxy(h.tb, "readers-NATS", nats)}
	h.postgresProxies = proxies{newProxy(h.tb, "projectors-PostgreSQL", postgres), newProxy(h.tb, "readers-PostgreSQL", postgres)}
}

// createDatabase creates the database of the programs, and connects to it.
func (h *harness) createDatabase() {
	h.tb.Helper()
	h.postgres.createDatabase(liveDatabase)
	h.pool = schematest.OpenPool(h.tb, h.postgres.URL(liveDatabase))
}

// start creates the streams, starts the load and the programs, and waits until every partition is at the stream's end.
func (h *harness) start(seed uint64, r rate) {
	h.tb.Helper()
	h.js = h.nats.connect()
	h.startProxies(h.nats.address)
	h.operator = h.newOperator(nil)
	h.createStream()
	h.run(seed, r)
}

// run starts the load and the programs, and waits until every partition is at the stream's end.
func (h *harness) run(seed uint64, r rate) {
	h.tb.Helper()
	h.load = h.startLoad(seed, r)
	h.keys = h.issueKeys()
	h.startPrograms()
	h.awaitCaughtUp()
}

// newOperator returns the commands' process, with further settings.
func (h *harness) newOperator(settings map[string]string) *process {
	h.tb.Helper()
	env := map[string]string{
		"CALLBOARD_NATS_URL": "nats://" + h.nats.address, "CALLBOARD_POSTGRES_URL": h.postgres.URL(liveDatabase),
		"CALLBOARD_PREMIUM_PER_MINUTE": strconv.Itoa(premium),
	}
	maps.Copy(env, settings)
	return newProcess(h.tb, "callboard", "callboard", env)
}

func (h *harness) createStream() {
	h.tb.Helper()
	var created any
	h.command(&created, "stream", "create", "--partitions", strconv.Itoa(partitions), "--replicas", strconv.Itoa(max(h.replicas, 1)))
}

// startPrograms starts two projectors, of which the second is the standby, and two readers.
func (h *harness) startPrograms() {
	h.tb.Helper()
	for _, number := range []string{"1", "2"} {
		env := h.env(h.natsProxies.projectors, h.postgresProxies.projectors, projectorRole)
		if h.postgres.workers != nil {
			env["CALLBOARD_POSTGRES_CONNECTIONS"] = strconv.Itoa(partitions) // a node that does not answer holds one for each of its partitions
		}
		p := newProcess(h.tb, "projector", "projector-"+number, env)
		p.Start()
		h.projectors = append(h.projectors, p)
		r := &reader{process: newProcess(h.tb, "readapi", "reader-"+number, h.readerEnv())}
		r.Start()
		h.readers = append(h.readers, r)
	}
}

func (h *harness) env(nats, postgres *proxy, role string) map[string]string {
	return map[string]string{
		"CALLBOARD_NATS_URL": "nats://" + nats.address(), "CALLBOARD_POSTGRES_URL": h.postgres.proxyURL(postgres, role, liveDatabase),
		"CALLBOARD_ADMIN_LISTEN": "127.0.0.1:0",
	}
}

func (h *harness) readerEnv() map[string]string {
	env := h.env(h.natsProxies.readers, h.postgresProxies.readers, readerRole)
	maps.Copy(env, h.readerSettings())
	return env
}

// readerSettings are a reader's settings beside the servers.
func (h *harness) readerSettings() map[string]string {
	return map[string]string{
		"CALLBOARD_BASE_URL":           baseURL,
		"CALLBOARD_LISTEN":             "127.0.0.1:0",
		"CALLBOARD_PREMIUM_PER_MINUTE": strconv.Itoa(premium),
		"CALLBOARD_AUDIO_URL":          "file://" + h.audio,
		"CALLBOARD_KEY_PEPPER":         base64.StdEncoding.EncodeToString(h.secret),
		"CALLBOARD_CURSOR_KEY":         base64.StdEncoding.EncodeToString(h.secret),
	}
}

func (h *harness) pepper() access.Pepper {
	h.tb.Helper()
	pepper, err := access.NewPepper(h.secret)
	if err != nil {
		h.tb.Fatal(err)
	}
	return pepper
}

// keySet holds the clients' API keys.
type keySet struct {
	systems      map[uuid.UUID]access.Key // with every scope
	group        access.Key
	organization access.Key
	reports      map[uuid.UUID][]access.Key // for the report clients: several each, because a key's report budget is small
}

// reportKeys is the number of keys that a report client uses in turn.
const reportKeys = 24

func (h *harness) issueKeys() *keySet {
	h.tb.Helper()
	registry := access.NewRegistry(h.pool, h.pepper())
	issue := func(kind access.GrantKind, id uuid.UUID) access.Key {
		issued, err := registry.Issue(h.tb.Context(), access.KeySpec{
			Name: "fault", Grant: access.Grant{Kind: kind, ID: id}, Scopes: access.Scopes(), Tier: access.TierPremium,
		})
		if err != nil {
			h.tb.Fatal(err)
		}
		return issued.Key
	}
	k := &keySet{
		systems: map[uuid.UUID]access.Key{}, reports: map[uuid.UUID][]access.Key{},
		group:        issue(access.GrantGroup, h.load.company.Groups()[0].ID),
		organization: issue(access.GrantOrganization, h.load.company.Organizations()[0].ID),
	}
	for _, system := range h.load.systems() {
		k.systems[system] = issue(access.GrantSystem, system)
		for range reportKeys {
			k.reports[system] = append(k.reports[system], issue(access.GrantSystem, system))
		}
	}
	return k
}

// queryInt returns the first column of a query's only row.
func (h *harness) queryInt(query string, parameters ...any) int64 {
	h.tb.Helper()
	return schematest.QueryOne[int64](h.tb, h.pool, query, parameters...)
}

// stream returns the stream of events as it is now. A server that has just started may not know it yet.
func (h *harness) stream() (stream jetstream.Stream) {
	h.tb.Helper()
	eventstest.Eventually(h.tb, "the stream is available", func() bool {
		ctx, cancel := h.attempt()
		defer cancel()
		var err error
		stream, err = h.js.Stream(ctx, cmp.Or(h.streamName, events.StreamName))
		return err == nil
	})
	return stream
}

// attempt is the context of a request to NATS that is repeated if it fails. Without it, a request that nobody
// answers, because the cluster has no leader, would wait for the client's 30 s.
func (h *harness) attempt() (context.Context, context.CancelFunc) {
	return context.WithTimeout(h.tb.Context(), 2*time.Second)
}

// awaitCaughtUp waits until every partition is at the sequence that the stream ends with now.
func (h *harness) awaitCaughtUp() {
	h.tb.Helper()
	last := int64(h.stream().CachedInfo().State.LastSeq)
	eventstest.Eventually(h.tb, "every partition is at the stream's end", func() bool {
		return h.queryInt("select count(*) from projection.position where sequence >= $1", last) ==
			h.queryInt("select coalesce(partitions, -1) from projection.generation")
	})
}

// awaitEvents waits until the projectors have read all events of a stream that stores no more.
func (h *harness) awaitEvents() {
	h.tb.Helper()
	info, err := h.stream().Info(h.tb.Context(), jetstream.WithSubjectFilter(events.ClockSubject))
	if err != nil {
		h.tb.Fatal(err)
	}
	stored := int64(info.State.Msgs - info.State.Subjects[events.ClockSubject])
	eventstest.Eventually(h.tb, "all events are read", func() bool {
		return h.queryInt("select coalesce(sum(read), 0)::bigint from projection.message_count") >= stored
	})
}

// awaitApplied waits until the projectors have read more messages.
func (h *harness) awaitApplied(more int64) {
	h.tb.Helper()
	const read = "select coalesce(sum(read), 0)::bigint from projection.message_count"
	target := h.queryInt(read) + more
	eventstest.Eventually(h.tb, strconv.FormatInt(more, 10)+" more messages are applied", func() bool { return h.queryInt(read) >= target })
}
