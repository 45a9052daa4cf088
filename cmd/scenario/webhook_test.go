package scenario_test

import (
	"bytes"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callboard/events"
	"callboard/events/eventstest"
	event "callboard/events/webhook"
	"callboard/projector/webhook"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/fanout"
	"callboard/projector/webhook/registry"
)

// hooks is a running sender, and the receiver of its only endpoint.
type hooks struct {
	*harness
	registry *registry.Registry
	receiver *httptest.Server
	secret   event.Secret
	verifier *standard.Webhook // of another maker
	id       uuid.UUID         // of the endpoint
	schema   *jsonschema.Schema
	onEvent  func(event.Event) // called before the answer; nil: nothing

	mu   sync.Mutex
	got  []hook
	errs []string
}

// requestTimeout is longer than a busy machine needs: a request that is repeated would be counted twice.
const requestTimeout = 3 * time.Minute

// hook is a request that the endpoint got.
type hook struct {
	event.Event
	body   string
	header http.Header
}

// startHooks registers an endpoint and starts a sender. A gate is closed by it; nil: there is none.
func (h *harness) startHooks(target registry.Target, gate *fanout.Gate, onEvent func(event.Event)) *hooks {
	h.Helper()
	k := h.newHooks(target, onEvent)
	k.startSender(gate)
	return k
}

// newHooks registers an endpoint, without a sender.
func (h *harness) newHooks(target registry.Target, onEvent func(event.Event)) *hooks {
	h.Helper()
	k := &hooks{harness: h, registry: registry.New(h.RolePool("callboard_operator", nil), "scenario"), schema: webhookSchema(h), onEvent: onEvent}
	k.register(target, k.startReceiver())
	return k
}

func (k *hooks) startSender(gate *fanout.Gate) {
	k.Helper()
	sender, err := webhook.New(webhook.Config{
		Database: k.RolePool("callboard_webhooks", nil), NATS: k.JetStream.Conn(), Gate: gate, Vault: k.vault, Client: k.client(),
		Timeout: requestTimeout,
		Log:     zerolog.New(k.log), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		k.Fatal(err)
	}
	k.Run(sender.Run)
}

func (k *hooks) startReceiver() (url string) {
	k.Helper()
	k.receiver = eventstest.StartTLS(k, http.HandlerFunc(k.receive))
	return k.receiver.URL + "/in"
}

func (k *hooks) client() *egress.Client {
	roots := x509.NewCertPool()
	roots.AddCert(k.receiver.Certificate())
	return egress.New(egress.Config{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: roots, Version: "test",
		Timeout: requestTimeout, ConnectTimeout: requestTimeout,
	})
}

func (k *hooks) register(target registry.Target, url string) {
	k.Helper()
	c, err := registry.NewCandidate("CRM", url, target, event.Kinds(), 8, k.vault)
	if err == nil {
		err = k.registry.Register(k.Context(), c)
	}
	if err != nil {
		k.Fatal(err)
	}
	if k.verifier, err = standard.NewWebhook(c.Secret().Reveal()); err != nil {
		k.Fatal(err)
	}
	k.id, k.secret = c.ID(), c.Secret()
	info, err := k.Stream.Info(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	origin := registry.Origin{Stream: events.StreamName, Created: k.StreamCreated().UTC(), Sequence: info.State.LastSeq, Partitions: k.Partitions}
	if err := k.registry.Activate(k.Context(), c.ID(), origin); err != nil {
		k.Fatal(err)
	}
}

func (k *hooks) receive(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = k.verifier.Verify(body, r.Header)
	}
	var e event.Event
	if err == nil {
		e, err = event.Verify([]event.Secret{k.secret}, r.Header, body, time.Now())
	}
	if err == nil {
		err = k.checkBody(body)
	}
	if err != nil {
		k.fail("request: " + err.Error())
		return
	}
	if k.onEvent != nil {
		k.onEvent(e)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.got = append(k.got, hook{e, string(body), r.Header})
}

// webhookSchema returns the schema of requests' bodies that receivers' developers are given.
func webhookSchema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	const url = "file:///webhook.schema.json"
	file, err := events.Documents().Open("schemas/webhook.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		tb.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(url, document); err != nil {
		tb.Fatal(err)
	}
	schema, err := compiler.Compile(url)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func (k *hooks) checkBody(body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return k.schema.Validate(value)
}

// fail keeps what went wrong in another goroutine than the test's.
func (k *hooks) fail(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.errs = append(k.errs, text)
}

// requests returns the requests so far. Whatever went wrong fails the test.
func (k *hooks) requests() []hook {
	k.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, text := range k.errs {
		k.Error(text)
	}
	k.errs = nil
	return slices.Clone(k.got)
}

// await waits until a number of requests have arrived.
func (k *hooks) await(count int) []hook {
	k.Helper()
	eventstest.Eventually(k.TB, "all requests", func() bool { return len(k.requests()) >= count })
	got := k.requests()
	if len(got) != count {
		k.Errorf("requests = %d, want %d", len(got), count)
	}
	return got
}

// settle waits until everything that is fetchable was sent.
func (k *hooks) settle() []hook {
	k.Helper()
	k.WaitUntilCaughtUp()
	eventstest.Eventually(k.TB, "nothing waits", func() bool {
		return k.QueryInt(`select count(*) from webhook.floor f left join webhook.fanout n using (stream, stream_created, partition)
			where n.sequence is null or n.sequence < f.sequence`)+k.QueryInt("select count(*) from webhook.delivery") == 0
	})
	return k.requests()
}
