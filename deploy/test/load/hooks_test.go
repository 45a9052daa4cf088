//go:build linux

package load_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
	"callboard/schema/schematest"
)

// hooks is an installation with phone systems that have an endpoint each, all of a receiver in this process.
type hooks struct {
	*installation
	registry *registry.Registry
	vault    *webhook.Vault
	systems  []uuid.UUID
	receiver *httptest.Server
	ca       string // a file

	mu    sync.Mutex
	at    map[string]time.Time // of the first request, by callSid
	total int                  // requests
	last  time.Time            // of the last one
}

// behaviour of an endpoint, as the last part of its path says.
const (
	accepts = "accepts"
	refuses = "refuses"
	hangs   = "hangs"
)

// newHooks registers endpoints. behaviour returns that of the n-th.
func newHooks(i *installation, endpoints int, behaviour func(n int) string) *hooks {
	i.Helper()
	operator := schematest.OpenPool(i, i.postgres.UserURL("callboard_operator", i.password, i.database))
	h := &hooks{installation: i, registry: registry.New(operator, "load"), at: make(map[string]time.Time)}
	h.vault = eventstest.NewVault(i, i.secret)
	h.receiver = eventstest.StartTLS(i, http.HandlerFunc(h.receive), eventstest.WithHTTP2)
	h.ca = filepath.Join(i.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.receiver.Certificate().Raw})
	if err := os.WriteFile(h.ca, certificate, 0o600); err != nil {
		i.Fatal(err)
	}
	for n := range endpoints {
		h.register(behaviour(n))
	}
	return h
}

// register publishes a phone system and registers an endpoint for it.
func (h *hooks) register(behaviour string) {
	h.Helper()
	system := uuid.New()
	h.systems = append(h.systems, system)
	if err := h.publisher.Publish(h.Context(), events.Changed(&events.PhoneSystem{ID: system, Version: 1, Name: "Load"})); err != nil {
		h.Fatal(err)
	}
	url := fmt.Sprintf("%s/%d/%s", h.receiver.URL, len(h.systems), behaviour)
	c, err := registry.NewCandidate("load", url, registry.Target{Kind: registry.System, ID: system}, webhook.Kinds(), 8, h.vault)
	if err == nil {
		err = h.registry.Register(h.Context(), c)
	}
	if err != nil {
		h.Fatal(err)
	}
	stream, err := h.js.Stream(h.Context(), events.StreamName)
	if err != nil {
		h.Fatal(err)
	}
	info := stream.CachedInfo()
	id, err := events.StreamID(info.Config)
	if err != nil {
		h.Fatal(err)
	}
	origin := registry.Origin{Stream: id, Sequence: info.State.LastSeq, Partitions: events.DefaultPartitions}
	if err := h.registry.Activate(h.Context(), c.ID(), origin); err != nil {
		h.Fatal(err)
	}
}

func (h *hooks) startSender(name string) *process {
	h.Helper()
	env := h.env("callboard_webhooks")
	env["CALLBOARD_WEBHOOK_KEY"] = base64.StdEncoding.EncodeToString(h.secret)
	env["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"] = "127.0.0.0/8"
	env["CALLBOARD_WEBHOOK_CA_FILE"] = h.ca
	return startProcess(h, name, programs.Path(h, "webhooks"), env)
}

func (h *hooks) receive(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	switch {
	case strings.HasSuffix(r.URL.Path, hangs):
		<-r.Context().Done()
		return
	case strings.HasSuffix(r.URL.Path, refuses):
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var body struct{ Data struct{ CallSid string } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, again := h.at[body.Data.CallSid]; !again {
		h.at[body.Data.CallSid] = now
	}
	h.total++
	h.last = now
}

// received returns how many events have arrived, how many requests, and when the last one did.
func (h *hooks) received() (different, total int, last time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.at), h.total, h.last
}

// arrival returns when the event of a call arrived first.
func (h *hooks) arrival(callSid string) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, ok := h.at[callSid]
	return at, ok
}

func (h *hooks) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.at)
	h.total = 0
}

// endedCall returns the event of a call that has ended. It leads to one webhook.
func endedCall(system uuid.UUID) (e events.Event, callSid string) {
	id := uuid.New()
	callSid = "CA" + strings.ReplaceAll(id.String(), "-", "")
	return events.Changed(&events.Call{
		ID: id, PhoneSystemID: system, Version: 1, CallSid: callSid, Direction: "inbound", Status: "completed", From: events.Some("+14155550123"),
		To: events.Some("+14155550100"), CreatedAt: events.TimeOf(time.Now()), Duration: events.Some[int64](60),
	}), callSid
}
