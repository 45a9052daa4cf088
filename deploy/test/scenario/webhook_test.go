package scenario_test

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/projectortest"
	"callboard/projector/webhook/egress"
	"callboard/projector/webhook/registry"
	"callboard/projector/webhook/sender"
	"callboard/readapi/access"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// requestTimeout is longer than a busy machine needs: a request that is repeated would be counted twice.
const requestTimeout = 3 * time.Minute

// follower is the receiver of an endpoint. It makes the follow-up fetches of the contract in the instant of each
// request.
type follower struct {
	*harness
	key      access.Key
	secret   webhook.Secret
	verifier *standard.Webhook // of another maker
	receiver *httptest.Server

	mu   sync.Mutex
	got  map[string]int // requests by the event's id
	errs []string
}

// startFollower registers an endpoint of a phone system, and starts its receiver and a sender. A sender without a
// gate sends at once.
func (h *harness) startFollower(system uuid.UUID, gate *sender.Gate) *follower {
	h.Helper()
	f := &follower{harness: h, key: h.systemKey(system), got: map[string]int{}}
	f.receiver = eventstest.StartTLS(h, http.HandlerFunc(f.receive))
	f.register(system)
	roots := x509.NewCertPool()
	roots.AddCert(f.receiver.Certificate())
	sender := sender.New(sender.Config{
		Database: h.Database.RolePool(h, "callboard_webhooks"), NATS: h.JetStream.Conn(), Gate: gate, Vault: h.vault, Timeout: requestTimeout,
		Client: egress.New(egress.Config{
			Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: roots, Version: "test",
			Timeout: requestTimeout, ConnectTimeout: requestTimeout,
		}),
		Log: zerolog.New(h.log), Metrics: prometheus.NewRegistry(),
	})
	h.Run(sender.Run)
	return f
}

// register registers the endpoint from the present end of the stream on.
func (f *follower) register(system uuid.UUID) {
	f.Helper()
	r := registry.New(f.Database.RolePool(f, "callboard_operator"), "scenario")
	c, err := registry.NewCandidate("CRM", f.receiver.URL, registry.Target{Kind: registry.System, ID: system}, webhook.Kinds(), 8, f.vault)
	if err == nil {
		err = r.Register(f.Context(), c)
	}
	if err != nil {
		f.Fatal(err)
	}
	f.secret = c.Secret()
	if f.verifier, err = standard.NewWebhook(f.secret.Reveal()); err != nil {
		f.Fatal(err)
	}
	info, err := f.Stream.Info(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	origin := registry.Origin{Stream: f.StreamID(), Sequence: info.State.LastSeq, Partitions: f.Partitions}
	if err := r.Activate(f.Context(), c.ID(), origin); err != nil {
		f.Fatal(err)
	}
}

// receive verifies a request, and follows its event before it answers.
func (f *follower) receive(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = f.verifier.Verify(body, r.Header)
	}
	var e webhook.Event
	if err == nil {
		e, err = webhook.Verify([]webhook.Secret{f.secret}, r.Header, body, time.Now())
	}
	if err != nil {
		f.fail("request: " + err.Error())
		return
	}
	f.follow(e)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got[e.ID]++
}

// fail keeps what went wrong in another goroutine than the test's.
func (f *follower) fail(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, text)
}

func (f *follower) follow(e webhook.Event) {
	base := f.url("/" + e.Data.PhoneSystemID.String())
	switch e.Type {
	case webhook.CallEnded:
		f.want(base+"/call-logs?callSid="+e.Data.CallSid, func(b body) bool { return b.Total == 1 })
	case webhook.RecordingAvailable:
		f.want(base+"/recordings/"+e.Data.RecordingSid, func(b body) bool { return b.Status == "ready" })
		f.want(base+"/recordings/"+e.Data.RecordingSid+"/url", func(b body) bool { return f.audio(b.URL) })
	case webhook.TranscriptionCompleted:
		path := "/call-logs/" + e.Data.CallLogID.String()
		if e.Data.VoicemailID != uuid.Nil {
			path = "/voicemails/" + e.Data.VoicemailID.String()
		}
		f.want(base+path, func(b body) bool { return b.TranscriptionStatus == "completed" && b.TranscribedText != "" })
	case webhook.VoicemailCreated:
		f.want(base+"/voicemails/"+e.Data.VoicemailID.String(), func(b body) bool { return b.ID == e.Data.VoicemailID.String() })
	case webhook.AnalysisCompleted:
		f.want(base+"/call-analyses?callSid="+e.Data.CallSid, func(b body) bool { return b.Total == 1 })
		f.want(base+"/call-analyses?callLogId="+e.Data.CallLogID.String(), func(b body) bool { return b.Total == 1 })
	case webhook.Test:
		f.fail("a test, want none")
	}
}

// body holds the members of answers that fetches look at.
type body struct {
	ID, Status, URL                      string
	Total                                int
	TranscriptionStatus, TranscribedText string
}

// want fetches an address with the key, and says so unless the answer is 200 and as it should be.
func (f *follower) want(address string, ok func(body) bool) {
	response, err := f.fetch(address, keyHeader(f.key))
	if err != nil {
		f.fail(err.Error())
		return
	}
	defer func() { _ = response.Body.Close() }()
	var b body
	if err := json.NewDecoder(response.Body).Decode(&b); err != nil || response.StatusCode != http.StatusOK || !ok(b) {
		f.fail(fmt.Sprintf("%s: status = %d, body %+v, error = %v, want what the event says", address, response.StatusCode, b, err))
	}
}

func (f *follower) audio(address string) bool {
	response, err := f.fetch(address, http.Header{})
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

func (f *follower) fetch(address string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	return f.api.Client().Do(request)
}

// followCalls publishes calls with all that becomes fetchable of them. Every fetch that an event asks for succeeds
// at once, and each event is sent once.
func followCalls(h *harness, gate *sender.Gate, calls int) {
	h.Helper()
	system := uuid.New()
	h.storeAudio("a.wav", fullAudio)
	h.apply(events.Changed(phoneSystem(system, 1, "Hooks")))
	f := h.startFollower(system, gate)
	for n := range calls {
		h.Publish(wholeCall(system, n)...)
	}
	h.WaitUntilCaughtUp()
	eventstest.Eventually(h.TB, "everything that is fetchable was sent", func() bool {
		return h.QueryInt(`select count(*) from webhook.floor f left join webhook.fanout n using (stream, partition)
			where n.sequence is null or n.sequence < f.sequence`)+h.QueryInt("select count(*) from webhook.waiting") == 0
	})

	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range f.errs {
		h.Error(text)
	}
	const eventsOfCall = 6
	if len(f.got) != calls*eventsOfCall {
		h.Errorf("events = %d, want %d", len(f.got), calls*eventsOfCall)
	}
	for id, requests := range f.got {
		if requests != 1 {
			h.Errorf("requests of event %s = %d, want 1", id, requests)
		}
	}
}

// wholeCall returns the events of a call with a recording, a transcript and an analysis, and of a voicemail with a
// transcript.
func wholeCall(system uuid.UUID, n int) []events.Event {
	id, message := uuid.New(), uuid.New()
	c := call(system, id, 1)
	voicemailText := transcript(system, message, 1, "completed", "Hello.")
	voicemailText.CallID, voicemailText.VoicemailID = events.Null[uuid.UUID]{}, events.Some(message)
	return changed(c, recording(system, id, fmt.Sprintf("RE%032d", n), 1, events.RecordingReady), transcript(system, id, 1, "completed", "Hello."),
		&events.Analysis{ID: uuid.New(), PhoneSystemID: system, Version: 1, CallID: id, CallSid: c.CallSid, Status: events.AnalysisCompleted, CreatedAt: day(5)},
		&events.Voicemail{ID: message, PhoneSystemID: system, Version: 1, CallSid: c.CallSid, From: events.Some("101"), Duration: 5, RecordingSid: fmt.Sprintf("REvm%030d", n), CreatedAt: day(9)},
		voicemailText)
}

// What an event tells of can be fetched in the instant of the request.
func TestWebhooks_Fetchable(t *testing.T) {
	t.Parallel()
	followCalls(newHarness(t), nil, 50)
}

// The same where readers use a replica that is two seconds behind.
func TestWebhooks_DelayedReplica(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(p *projectortest.Harness) { p.Database = schematest.NewWithSettings(t, nil) })
	standby := schematest.NewStandby(t, h.Database.Cluster().URL("postgres"),
		map[string]string{"recovery_min_apply_delay": "2s", "max_connections": "200"})
	gate := sender.NewGate(sender.GateConfig{Log: zerolog.Nop(), Databases: func() ([]*pgx.ConnConfig, error) {
		config, err := pgx.ParseConfig(replicaURL(h, standby, "callboard_webhooks"))
		return []*pgx.ConnConfig{config}, err
	}})
	h.api = h.serve(schematest.OpenPool(t, replicaURL(h, standby, "callboard_reader")))
	followCalls(h, gate, 20)
}

// replicaURL returns the URL of a role at the replica, which has the databases and passwords of the primary.
func replicaURL(h *harness, replica *cluster.Cluster, role string) string {
	h.Helper()
	u, err := url.Parse(h.Database.RoleURL(role))
	if err != nil {
		h.Fatal(err)
	}
	u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(replica.Port()))
	return u.String()
}
