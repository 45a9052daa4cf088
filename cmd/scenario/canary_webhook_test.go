package scenario_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/schema/schematest"
)

// answerSecret is what a receiver answers. Operators see it, and no log has it.
const answerSecret = "answ3r-of-a-receiver"

// webhooks starts a sender. An endpoint accepts a test and refuses what follows; another one can't be reached.
func (i *installation) webhooks() *daemon {
	i.Helper()
	key := newSecret()
	i.addSecret("webhook key", string(key))
	receiver, signature := i.startReceiver(2)
	i.env["CALLBOARD_WEBHOOK_KEY"] = base64.StdEncoding.EncodeToString(key)
	i.env["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"] = "127.0.0.0/8"
	i.env["CALLBOARD_WEBHOOK_CA_FILE"] = filepath.Join(i.programs, "receiver.pem")
	i.env["CALLBOARD_WEBHOOK_RETRIES"] = "100ms"
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	if err := os.WriteFile(i.env["CALLBOARD_WEBHOOK_CA_FILE"], certificate, 0o600); err != nil {
		i.Fatal(err)
	}
	sender := i.start("webhooks", "webhooks")
	sender.Await(`"message":"connected to nats"`) // a test of an endpoint waits 20 s for a sender
	const token = "t0ken-in-a-query"
	i.addSecret("query of a URL", token)
	id := i.addEndpoint(receiver.URL + "/in?token=" + token)
	i.addEndpoint("https://127.0.0.1:1/?token="+token, "--no-test")
	i.publishEnd()
	eventstest.Eventually(i, "a request was refused", func() bool { return signature.Load() != nil })
	i.addSecret("signature", *signature.Load())
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", id}, {"show", id, "--json"}, {"deliveries", id}, {"deliveries", id, "--json"}, {"pause", id},
		{"set", id, "--url", receiver.URL + "/other?token=" + token}, {"resume", id},
	} {
		i.run(0, i.environment("operator"), "callboard", append([]string{"webhooks"}, args...)...)
	}
	i.run(1, i.environment("operator"), "callboard", "webhooks", "test", id)
	i.recordTables()
	return sender
}

// startReceiver starts a receiver that accepts a number of requests and refuses all others. The signature is that of a refused one.
func (i *installation) startReceiver(accepts int32) (*httptest.Server, *atomic.Pointer[string]) {
	i.Helper()
	var requests atomic.Int32
	var signature atomic.Pointer[string]
	receiver := eventstest.StartTLS(i, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) < accepts {
			return
		}
		_, value, _ := strings.Cut(r.Header.Get(webhook.HeaderSignature), ",")
		signature.Store(&value)
		http.Error(w, answerSecret, http.StatusInternalServerError)
	}))
	return receiver, &signature
}

// addEndpoint registers an endpoint and adds its secret to the secrets.
func (i *installation) addEndpoint(url string, args ...string) (id string) {
	i.Helper()
	var added struct{ ID, Secret string }
	out := i.runUnrecorded(0, i.environment("operator"), "callboard", append([]string{
		"webhooks", "add", url, "--json", "--name", "canary", "--system", i.system.String(), "--kinds", "all",
	}, args...)...)
	if err := json.Unmarshal([]byte(out), &added); err != nil || added.Secret == "" {
		i.Fatalf("the output has no secret: %v", err)
	}
	i.record("the output of add", strings.ReplaceAll(out, added.Secret, ""))
	i.addSecret("endpoint's secret", added.Secret)
	return added.ID
}

// publishEnd publishes the end of a call.
func (i *installation) publishEnd() {
	i.Helper()
	publisher := events.NewPublisher(eventstest.JetStream(i, i.natsURL), "canary")
	if err := publisher.Publish(i.Context(), events.Changed(call(i.system, uuid.New(), 1))); err != nil {
		i.Fatal(err)
	}
}

// recordTables records what a dump of the database shows about webhooks. An endpoint's row has its URL.
func (i *installation) recordTables() {
	i.Helper()
	for _, table := range []string{"secret", "audit", "delivery", "finished", "notice"} {
		query := "select coalesce(string_agg(t::text, ' '), '') from webhook." + table + " t"
		i.record("the table webhook."+table, schematest.QueryOne[string](i, i.database.Pool(i), query))
	}
}
