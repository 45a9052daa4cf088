package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"callboard/deploy/test/programtest"
	"callboard/events"
	"callboard/events/eventstest"
)

//nolint:gochecknoglobals // one build for all tests
var programs = programtest.New("callboard/cmd/callboard")

func TestMain(m *testing.M) {
	code := m.Run()
	if err := programs.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// service is a running reader, projector and webhook sender with their databases.
type service struct {
	BaseURL           string            `json:"baseUrl"`
	NATSURL           string            `json:"natsUrl"`
	ReadAPIAdminURL   string            `json:"readapiAdminUrl"`
	ProjectorAdminURL string            `json:"projectorAdminUrl"`
	WebhooksAdminURL  string            `json:"webhooksAdminUrl"`
	Env               map[string]string `json:"env"` // with which commands use it
}

// addEndpoint registers an endpoint of a phone system, at an address that refuses every connection.
func (s service) addEndpoint(t *testing.T, system uuid.UUID) {
	t.Helper()
	_, errs, code := programtest.Run(t.Context(), t, programs.Path(t, "callboard"), s.Env, "",
		"webhooks", "add", "https://127.0.0.1:1/", "--no-test", "--name", "test", "--kinds", "all", "--system", system.String())
	if code != 0 {
		t.Fatalf("webhooks add: exit code = %d: %s", code, errs)
	}
}

// startService runs 'callboard dev' until the test ends.
func startService(t *testing.T) (s service) {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready.json")
	dev := programtest.NewProcess(t, "callboard", programs.Path(t, "callboard"), nil)
	dev.Start("dev", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--sample", "none", "--data", filepath.Join(dir, "data"), "--ready-file", ready)
	t.Cleanup(func() { dev.StopCleanly(os.Interrupt) })
	eventstest.Eventually(t, "callboard dev is ready", func() bool {
		dev.RequireRunning()
		text, err := os.ReadFile(ready)
		return err == nil && json.Unmarshal(text, &s) == nil
	})
	return s
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// addMetrics adds the names of the metrics that a program exports now, those of a histogram's series included.
func addMetrics(ctx context.Context, names map[string]bool, adminURL string) error {
	text, err := get(ctx, adminURL+"/metrics")
	if err != nil {
		return err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return err
	}
	for name, family := range families {
		names[name] = true
		if family.GetMetric()[0].GetHistogram() != nil {
			names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
		}
	}
	return nil
}

// liveMetrics returns the names of the metrics that the programs export: after a request, an event, a dead letter,
// a webhook that could not be delivered, and in the end with all partitions stopped.
func liveMetrics(t *testing.T) map[string]bool {
	t.Helper()
	s := startService(t)
	connection, err := nats.Connect(s.NATSURL, nats.Timeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	js, err := jetstream.New(connection, jetstream.WithDefaultTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	system := uuid.New()
	s.addEndpoint(t, system)
	if err := events.NewPublisher(js, "test").Publish(t.Context(), endedCall(system)...); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), events.Subject(system, events.EntityCall), []byte("not an event")); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	collect := func(until string) {
		eventstest.Eventually(t, until, func() bool {
			if _, err := get(t.Context(), s.BaseURL+"/customer/phone-systems"); err != nil {
				t.Fatal(err)
			}
			for _, url := range []string{s.ReadAPIAdminURL, s.ProjectorAdminURL, s.WebhooksAdminURL} {
				if _, err := get(t.Context(), url+"/readyz"); err != nil {
					t.Fatal(err)
				}
				if err := addMetrics(t.Context(), names, url); err != nil {
					t.Fatal(err)
				}
			}
			return names[until]
		})
	}
	for _, name := range []string{
		"callboard_projector_events_total", "callboard_projector_dead_letters_total", "callboard_projector_pending", "callboard_readapi_watermark_seconds",
		"callboard_projector_notices_total", "callboard_webhooks_attempts_total",
	} {
		collect(name)
	}
	allowDirect(t, js)
	collect("callboard_projector_stopped")
	return names
}

// endedCall returns the events of a phone system with one call.
func endedCall(system uuid.UUID) []events.Event {
	return []events.Event{
		events.Changed(&events.PhoneSystem{ID: system, Version: 1, Name: "A"}),
		events.Changed(&events.Call{
			ID: uuid.New(), PhoneSystemID: system, Version: 1, CallSid: "CA" + strings.Repeat("0", 32), Direction: "inbound",
			Status: "completed", From: events.Some("+14155550123"), To: events.Some("+14155550100"), CreatedAt: events.TimeOf(time.Now()), Tags: []events.Tag{},
		}),
	}
}

// allowDirect makes the stream one that projectors refuse.
func allowDirect(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "PHONES")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.AllowDirect = true
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}
