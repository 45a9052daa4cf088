package scenario_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector/projectortest"
	"callboard/readapi"
	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/auditqueue"
	"callboard/readapi/limit"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m) }

// harness adds a reader and its keys to the stream, the database and a projector. All phone systems share a partition.
type harness struct {
	*projectortest.Harness

	registry *access.Registry
	api      *httptest.Server
	start    time.Time
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{Harness: projectortest.NewHarness(t, projectortest.WithPartitions(1)), start: time.Now()}
	h.StartProjector()

	pepper, err := access.NewPepper(secret())
	if err != nil {
		t.Fatal(err)
	}
	h.registry = access.NewRegistry(h.Database.RolePool(h, "callboard_operator"), pepper)
	h.startReader(pepper)
	return h
}

func secret() []byte { return bytes.Repeat([]byte("s"), 32) }

// startReader starts a reader whose budgets no test exhausts.
func (h *harness) startReader(pepper access.Pepper) {
	h.Helper()
	const unlimited = 1_000_000
	limiter, err := limit.New(limit.Config{
		JetStream: h.JetStream, Report: unlimited, Standard: unlimited, Premium: unlimited, Timeout: time.Minute,
		Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		h.Fatal(err)
	}
	if _, err := h.JetStream.CreateStream(h.Context(), events.AuditStreamConfig(1)); err != nil {
		h.Fatal(err)
	}
	queue := auditqueue.NewQueue(auditqueue.Config{
		JetStream: h.JetStream, FlushTimeout: time.Minute, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	h.Run(limiter.Run)
	h.Run(queue.Run)

	location, err := audio.ParseLocation("file://" + h.TempDir())
	if err != nil {
		h.Fatal(err)
	}
	handler, err := readapi.New(readapi.Config{
		Primary: h.Database.RolePool(h, "callboard_reader"), Peppers: []access.Pepper{pepper}, Limiter: limiter,
		AuditQueue: queue, Secret: secret(), Audio: location, BaseURL: "https://phones.example.com/v1", Log: zerolog.Nop(),
		Timeout: time.Minute, DimensionsTimeout: time.Minute,
	})
	if err != nil {
		h.Fatal(err)
	}
	h.api = httptest.NewServer(handler)
	h.Cleanup(h.api.Close)
}

// apply publishes events and waits until they are applied.
func (h *harness) apply(list ...events.Event) {
	h.Helper()
	h.Publish(list...)
	h.WaitUntilCaughtUp()
}

// issueKey issues a key with all scopes.
func (h *harness) issueKey(kind access.GrantKind, id uuid.UUID) access.Key {
	h.Helper()
	issued, err := h.registry.Issue(h.Context(), access.KeySpec{
		Name: "scenario", Grant: access.Grant{Kind: kind, ID: id}, Scopes: access.Scopes(),
	})
	if err != nil {
		h.Fatal(err)
	}
	return issued.Key
}

// get requests a path below /customer/phone-systems.
func (h *harness) get(key access.Key, path string) (status int, body []byte) {
	h.Helper()
	url := h.api.URL + "/v1/customer/phone-systems" + path
	request, err := http.NewRequestWithContext(h.Context(), http.MethodGet, url, nil)
	if err != nil {
		h.Fatal(err)
	}
	request.Header.Set("X-API-Key", key.Reveal())
	request.Header.Set("X-Request-Id", "same")
	response, err := h.api.Client().Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		h.Fatal(err)
	}
	return response.StatusCode, body
}

// decode decodes JSON.
func (h *harness) decode(text []byte, into any) {
	h.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		h.Fatalf("%v: %.500s", err, text)
	}
}
