package sender_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/registry"
	"callboard/projector/webhook/sender"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(4)
	schematest.RunAndFindLeaks(m)
}

// harness has a database with a phone system, a NATS server, a receiver and an operator's registry.
type harness struct {
	schematest.Test
	nats     *eventstest.Server
	vault    *webhook.Vault
	registry *registry.Registry
	receiver *receiver
	system   uuid.UUID
	sequence int
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	t.Parallel()
	return newHarnessOf(t, schematest.New(t))
}

func newHarnessOf(t *testing.T, database *schematest.Database) *harness {
	t.Helper()
	h := &harness{Test: schematest.NewTest(t, database), nats: eventstest.NewServer(t), vault: eventstest.NewVault(t, bytes.Repeat([]byte("k"), 32)), system: uuid.New()}
	h.registry = registry.New(h.Database.RolePool(t, "callboard_operator"), "ada")
	h.receiver = newReceiver(t)
	h.Exec("insert into projection.phone_system (partition, id, version, name) values (0, $1, 1, 'Office')", h.system)
	return h
}

// eventually waits until a query returns a text.
func (h *harness) eventually(what, want, query string, arguments ...any) {
	h.Helper()
	eventstest.Eventually(h.T, what+" = "+want, func() bool { return h.Text(query, arguments...) == want })
}

// register adds an active endpoint of the phone system at a path of the receiver. Its secret verifies what the receiver
// gets there.
func (h *harness) register(path string, concurrency int) uuid.UUID {
	h.Helper()
	c, err := registry.NewCandidate("CRM", h.receiver.server.URL+path, registry.Target{Kind: registry.System, ID: h.system}, webhook.Kinds(),
		concurrency, h.vault)
	h.Must(err)
	h.Must(h.registry.Register(h.Context(), c))
	h.Must(h.registry.Activate(h.Context(), c.ID(), registry.Origin{Stream: streamID(), Partitions: 1}))
	h.receiver.trust(path, c.Secret())
	return c.ID()
}

func streamID() uuid.UUID { return uuid.MustParse("00000000-0000-4000-8000-00000000000a") }

// notice records that calls have ended, as a projector does, and wakes the senders.
func (h *harness) notice(count int) {
	h.Helper()
	h.Exec(`with n as (
			insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
			select $1, 0, n, 0, 'evt_' || n, 'call.ended', $2, 'CA' || n, now() from generate_series($3::bigint, $4) n
			returning sequence
		)
		insert into webhook.floor select $1, 0, max(sequence) from n
		on conflict (stream, partition) do update set sequence = excluded.sequence`,
		streamID(), h.system, h.sequence+1, h.sequence+count)
	h.sequence += count
	h.Exec(`insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values (0, $1, $2, 1, now(), now())
		on conflict (partition) do update set sequence = excluded.sequence`, streamID(), h.sequence)
	connection, err := nats.Connect(h.nats.URL(), nats.Timeout(30*time.Second))
	h.Must(err)
	defer connection.Close()
	h.Must(connection.Publish(webhook.WakeSubject, nil))
	h.Must(connection.Flush())
}

// countAttempts counts the attempts of all deliveries.
const countAttempts = "select sum(jsonb_array_length(attempts)) from webhook.delivery"

// requestTimeout is longer than a busy machine needs: requests are counted, and wait for as long as a test holds them.
const requestTimeout = 5 * time.Minute

// running is a running sender.
type running struct {
	*sender.Sender
	registry *prometheus.Registry
	stop     func() // waits until it has ended
}

// start runs a sender until the test ends, with changes to its configuration.
func (h *harness) start(change func(*sender.Config)) *running {
	h.Helper()
	connection, err := nats.Connect(h.nats.URL(), nats.Timeout(30*time.Second), nats.MaxReconnects(-1))
	h.Must(err)
	pool := schematest.OpenPool(h, h.Database.RoleURL("callboard_webhooks"), func(c *pgxpool.Config) { c.MaxConns = 8 })
	metrics := prometheus.NewRegistry()
	c := sender.Config{
		Database: pool, NATS: connection, Vault: h.vault, Client: h.receiver.client(requestTimeout), Timeout: requestTimeout,
		Schedule: sender.Schedule{Retries: []time.Duration{50 * time.Millisecond}, GiveUp: time.Hour},
		InFlight: 512, Days: 30, Poll: 20 * time.Millisecond, Log: zerolog.New(zerolog.NewTestWriter(h.T)), Metrics: metrics,
	}
	if change != nil {
		change(&c)
	}
	s := sender.New(c)
	h.Cleanup(connection.Close)
	stop := eventstest.Run(h, s.Run)
	eventstest.Eventually(h.T, "the sender is ready", s.Ready)
	return &running{s, metrics, stop}
}

// stopping stops a sender in the background. The channel is closed when it has ended.
func (s *running) stopping() (stopped <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.stop()
	}()
	return ended
}

// metric returns the sum of the values of a counter or gauge.
func (s *running) metric(t *testing.T, name string) (sum float64) {
	t.Helper()
	for series, value := range eventstest.Metrics(t, s.registry) {
		if metric, _, _ := strings.Cut(series, " "); metric == "callboard_webhooks_"+name {
			sum += value
		}
	}
	return sum
}

// receiver answers requests over TLS and keeps them. It refuses those that no secret of their path signed.
type receiver struct {
	server *httptest.Server
	roots  *x509.CertPool

	mu      sync.Mutex
	secrets map[string][]webhook.Secret
	answer  map[string]http.HandlerFunc // by path; else 200
	got     map[string][]request        // by path
}

type request struct {
	webhook.Event
	body       string
	signatures string
	at         time.Time
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	authority := eventstest.NewCertificateAuthority(t)
	r := &receiver{
		roots: x509.NewCertPool(), secrets: make(map[string][]webhook.Secret), answer: make(map[string]http.HandlerFunc),
		got: make(map[string][]request),
	}
	r.roots.AppendCertsFromPEM(authority.PEM())
	r.server = eventstest.StartTLS(t, r, eventstest.WithCertificate(authority.KeyPair(t)))
	return r
}

func (r *receiver) client(timeout time.Duration) *egress.Client {
	return egress.New(egress.Config{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: r.roots, Timeout: timeout, ConnectTimeout: timeout, Version: "test",
	})
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	path := req.URL.Path
	r.mu.Lock()
	e, err := webhook.Verify(r.secrets[path], req.Header, body, time.Now())
	answer := r.answer[path]
	if err == nil {
		r.got[path] = append(r.got[path], request{e, string(body), req.Header.Get(webhook.HeaderSignature), time.Now()})
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusTeapot)
	case answer != nil:
		answer(w, req)
	}
}

func (r *receiver) trust(path string, secrets ...webhook.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = secrets
}

// respond sets how requests to a path are answered; nil: 200.
func (r *receiver) respond(path string, answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer[path] = answer
}

// hold makes the requests to a path wait until release is called. arrived tells of the first one.
func (r *receiver) hold(path string) (arrived <-chan struct{}, release func()) {
	first, released := make(chan struct{}), make(chan struct{})
	arrive := sync.OnceFunc(func() { close(first) })
	r.respond(path, func(http.ResponseWriter, *http.Request) {
		arrive()
		<-released
	})
	return first, sync.OnceFunc(func() { close(released) })
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\nroom", code) }
}

func (r *receiver) requests(path string) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got[path])
}

// ids returns the events that a path got, in order of arrival.
func (r *receiver) ids(path string) (list []string) {
	for _, got := range r.requests(path) {
		list = append(list, got.ID)
	}
	return list
}

// await waits until a path has got a number of requests.
func (h *harness) await(path string, count int) []request {
	h.Helper()
	eventstest.Eventually(h.T, fmt.Sprintf("%d requests at %s", count, path), func() bool { return len(h.receiver.requests(path)) >= count })
	got := h.receiver.requests(path)
	if len(got) > count {
		h.Errorf("requests at %s = %d, want %d", path, len(got), count)
	}
	return got
}

// events returns the ids of the events first to last.
func events(first, last int) (list []string) {
	for n := first; n <= last; n++ {
		list = append(list, fmt.Sprintf("evt_%d", n))
	}
	return list
}
