package scenario_test

import (
	"crypto/rand"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
	projectoraudit "callboard/projector/audit"
	"callboard/projector/projectortest"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/auditqueue"
	"callboard/readapi/limit"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

// harness adds a reader and its keys to the stream, the database and the projector.
type harness struct {
	*projectortest.Harness

	peppers  []access.Pepper
	registry *access.Registry
	vault    *webhook.Vault // of webhook secrets
	api      *httptest.Server
	audioDir string // of the recordings' audio
	log      *eventstest.LogBuffer

	stopProjector func()
}

func newHarness(t *testing.T, options ...projectortest.Option) *harness {
	t.Helper()
	h := &harness{Harness: projectortest.NewHarness(t, options...), peppers: []access.Pepper{newPepper(t)}, vault: eventstest.NewVault(t, newSecret()), audioDir: t.TempDir(), log: &eventstest.LogBuffer{}}
	h.registry = access.NewRegistry(h.Database.RolePool(h, "callboard_operator"), h.peppers[0])
	if _, err := h.JetStream.CreateStream(t.Context(), events.AuditStreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	h.stopProjector = h.StartProjector()
	h.startReader()
	return h
}

// unlimited is a budget that no test exhausts. The contract's budgets are tested with a [budgetReader].
const unlimited = 1_000_000

// startReader starts the reader of the primary, and the writer of the audit.
func (h *harness) startReader() {
	h.Helper()
	writer := projectoraudit.New(projectoraudit.Config{
		JetStream: h.JetStream, Database: h.Database.RolePool(h, "callboard_projector"), Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	h.Run(writer.Run)
	h.api = h.serve(h.readerPool())
}

// serve starts a reader of a database. The reader's base URL is its own address, so links can be followed.
func (h *harness) serve(database *pgxpool.Pool, change ...func(*readapi.Config)) *httptest.Server {
	h.Helper()
	limiter, err := limit.New(limit.Config{
		JetStream: h.JetStream, Report: unlimited, Standard: unlimited, Premium: unlimited, Timeout: time.Minute,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		h.Fatal(err)
	}
	queue := auditqueue.NewQueue(auditqueue.Config{
		JetStream: h.JetStream, FlushTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	h.Run(limiter.Run)
	h.Run(queue.Run)
	server := httptest.NewUnstartedServer(nil)
	config := readapi.Config{
		Primary: database, Peppers: h.peppers, Limiter: limiter, AuditQueue: queue, Secret: newSecret(), Audio: h.audioLocation(),
		BaseURL: "http://" + server.Listener.Addr().String() + "/v1", Log: zerolog.New(h.log),
		Timeout: time.Minute, DimensionsTimeout: time.Minute,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // so that tests choose the client's address
	}
	for _, apply := range change {
		apply(&config)
	}
	if server.Config.Handler, err = readapi.New(config); err != nil {
		h.Fatal(err)
	}
	server.Start()
	h.Cleanup(server.Close)
	return server
}

func (h *harness) readerPool() *pgxpool.Pool { return h.Database.RolePool(h, "callboard_reader") }

func (h *harness) audioLocation() audio.Location {
	h.Helper()
	location, err := audio.ParseLocation("file://" + h.audioDir)
	if err != nil {
		h.Fatal(err)
	}
	return location
}

// storeAudio stores a recording's audio under a key.
func (h *harness) storeAudio(key, audio string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.audioDir, key), []byte(audio), 0o600); err != nil {
		h.Fatal(err)
	}
}

func newSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return secret
}

func newPepper(t *testing.T) access.Pepper {
	t.Helper()
	pepper, err := access.NewPepper(newSecret())
	if err != nil {
		t.Fatal(err)
	}
	return pepper
}

// apply publishes events and waits until they are applied.
func (h *harness) apply(list ...events.Event) {
	h.Helper()
	h.Publish(list...)
	h.WaitUntilCaughtUp()
}

// issue issues a key with all scopes, unless the request names some.
func (h *harness) issue(request access.KeySpec) access.IssuedKey {
	h.Helper()
	request.Name = "scenario"
	if request.Scopes == nil {
		request.Scopes = access.Scopes()
	}
	issued, err := h.registry.Issue(h.Context(), request)
	if err != nil {
		h.Fatal(err)
	}
	return issued
}

func (h *harness) issueKey(request access.KeySpec) access.Key {
	h.Helper()
	return h.issue(request).Key
}

func (h *harness) grantKey(kind access.GrantKind, id uuid.UUID) access.Key {
	h.Helper()
	return h.issueKey(access.KeySpec{Grant: access.Grant{Kind: kind, ID: id}})
}

func (h *harness) systemKey(system uuid.UUID) access.Key {
	h.Helper()
	return h.grantKey(access.GrantSystem, system)
}

func (h *harness) revoke(id uuid.UUID) {
	h.Helper()
	if _, err := h.registry.Revoke(h.Context(), id); err != nil {
		h.Fatal(err)
	}
}
