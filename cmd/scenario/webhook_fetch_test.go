package scenario_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"callboard/events"
	event "callboard/events/webhook"
	"callboard/projector/projectortest"
	"callboard/projector/webhook/fanout"
	"callboard/projector/webhook/registry"
	"callboard/readapi/access"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// follower makes the follow-up fetches of the contract in the instant of each request.
type follower struct {
	hooks   *hooks
	client  *http.Client
	key     access.Key
	fetched atomic.Int64
}

func (f *follower) onEvent(e event.Event) {
	base := f.hooks.url("/" + e.Data.PhoneSystemID.String())
	switch e.Type {
	case event.CallEnded:
		f.want(base+"/call-logs?callSid="+e.Data.CallSid, func(b body) bool { return b.Total == 1 })
	case event.RecordingAvailable:
		f.want(base+"/recordings/"+e.Data.RecordingSid, func(b body) bool { return b.Status == "ready" })
		f.want(base+"/recordings/"+e.Data.RecordingSid+"/url", func(b body) bool { return f.audio(b.URL) })
	case event.TranscriptionCompleted:
		path := "/call-logs/" + e.Data.CallLogID.String()
		if e.Data.VoicemailID != uuid.Nil {
			path = "/voicemails/" + e.Data.VoicemailID.String()
		}
		f.want(base+path, func(b body) bool { return b.TranscriptionStatus == "completed" && b.TranscribedText != "" })
	case event.VoicemailCreated:
		f.want(base+"/voicemails/"+e.Data.VoicemailID.String(), func(b body) bool { return b.ID == e.Data.VoicemailID.String() })
	case event.AnalysisCompleted:
		f.want(base+"/call-analyses?callSid="+e.Data.CallSid, func(b body) bool { return b.Total == 1 })
		f.want(base+"/call-analyses?callLogId="+e.Data.CallLogID.String(), func(b body) bool { return b.Total == 1 })
	case event.Test:
		f.hooks.fail("a test, want none")
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
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		f.hooks.fail(err.Error())
		return
	}
	request.Header = keyHeader(f.key)
	response, err := f.client.Do(request)
	if err != nil {
		f.hooks.fail(err.Error())
		return
	}
	defer func() { _ = response.Body.Close() }()
	var b body
	if err := json.NewDecoder(response.Body).Decode(&b); err != nil || response.StatusCode != http.StatusOK || !ok(b) {
		f.hooks.fail(fmt.Sprintf("%s: status = %d, body %+v, error = %v, want what the event says", address, response.StatusCode, b, err))
	}
	f.fetched.Add(1)
}

func (f *follower) audio(address string) bool {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	response, err := f.client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

// follow publishes calls with all that becomes fetchable of them, and checks that every fetch that an event asks for succeeds at once.
func follow(h *harness, gate *fanout.Gate, calls int) {
	h.Helper()
	system := uuid.New()
	h.storeAudio("a.wav", fullAudio)
	h.apply(events.Changed(phoneSystem(system, 1, "Hooks")))
	f := &follower{client: h.api.Client(), key: h.systemKey(system)}
	f.hooks = h.startHooks(registry.Target{Kind: registry.System, ID: system}, gate, f.onEvent)
	for n := range calls {
		h.Publish(wholeCall(system, n)...)
	}
	const eventsOfCall = 6
	got := f.hooks.settle()
	if len(got) != calls*eventsOfCall {
		h.Errorf("requests = %d, want %d", len(got), calls*eventsOfCall)
	}
	ids := make(map[string]bool)
	for _, r := range got {
		ids[r.ID] = true
	}
	if len(ids) != len(got) {
		h.Errorf("different events = %d, want %d", len(ids), len(got))
	}
	h.Logf("%d events, %d fetches", len(got), f.fetched.Load())
}

// wholeCall returns the events of a call with a recording, a transcript and an analysis, and of a voicemail with a transcript.
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

// webhookCalls is the number of calls of TestWebhooks_Fetchable. Six events follow from each.
//
//nolint:gochecknoglobals // flags are
var webhookCalls = flag.Int("webhook-calls", 150, "calls whose webhooks are followed")

// What an event tells of can be fetched in the instant of the request. '-webhook-calls 1667' follows ten thousand events.
func TestWebhooks_Fetchable(t *testing.T) {
	t.Parallel()
	follow(newHarness(t), nil, *webhookCalls)
}

// The same where readers use a replica that is two seconds behind.
func TestWebhooks_DelayedReplica(t *testing.T) {
	schematest.NeedOneServer(t, "a copy of the coordinator has no workers")
	t.Parallel()
	h := newHarness(t, func(p *projectortest.Harness) { p.Database = schematest.NewWithSettings(t, nil) })
	standby := schematest.NewStandby(t, h.Database.Cluster().URL("postgres"),
		map[string]string{"recovery_min_apply_delay": "2s", "max_connections": "200"})
	gate := fanout.NewGate(fanout.GateConfig{Log: zerolog.Nop(), Databases: func() ([]*pgx.ConnConfig, error) {
		config, err := pgx.ParseConfig(replicaURL(h, standby, "callboard_webhooks"))
		return []*pgx.ConnConfig{config}, err
	}})
	h.api = h.serve(schematest.OpenPool(t, replicaURL(h, standby, "callboard_reader")))
	follow(h, gate, 50)
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
