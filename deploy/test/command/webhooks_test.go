package command_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/projector/webhook/registry"
)

// hookURL has a query, which no command prints.
const hookURL = "https://hooks.example.com/in?token=hunter2"

type endpointRecord struct {
	ID, URL, Name, State string
	Grant                struct{ Kind, ID string }
	Kinds                []string
	Reason               *string
	Concurrency          int
	Waiting, Dead        int64
	SuccessRate          *float64
	P50Ms, P99Ms         *int
	CreatedAt            time.Time
	Secrets              []struct {
		ID        string
		CreatedAt time.Time
		ExpiresAt *time.Time
	}
	Audit []struct {
		By, Role, Command string
		Before, After     *struct{ State string }
	}
}

type deliveryRecord struct {
	Delivery, Event, Kind, State, Cause string
	Identifiers                         map[string]string
	Attempts                            []struct {
		At     time.Time
		Status *int
		Error  *string
		MS     int
	}
	NextAt *time.Time
}

// webhooksFixture has an operator's commands about webhooks.
type webhooksFixture struct {
	*fleet
	operator map[string]string
}

func newWebhooksFixture(t *testing.T) webhooksFixture {
	t.Helper()
	f := webhooksFixture{fleet: newFleet(t)}
	f.operator = f.fleet.operator()
	f.operator["CALLBOARD_WEBHOOK_KEY"] = testWebhookKey()
	return f
}

func testWebhookKey() string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("w", 32)))
}

func (f webhooksFixture) run(args ...string) result {
	f.Helper()
	r := command(f, f.operator, "", append([]string{"webhooks"}, args...)...)
	if strings.Contains(r.out+r.err, "hunter2") {
		f.Errorf("webhooks %v prints the query of a URL", args)
	}
	return r
}

func (f webhooksFixture) expect(code int, pattern string, args ...string) {
	f.Helper()
	expect(f, f.operator, code, pattern, append([]string{"webhooks"}, args...)...)
}

func (f webhooksFixture) show(id string) endpointRecord {
	f.Helper()
	return succeedJSON[endpointRecord](f, f.operator, "webhooks", "show", id)
}

func (f webhooksFixture) deliveries(id string, args ...string) []deliveryRecord {
	f.Helper()
	return succeedJSON[struct{ Deliveries []deliveryRecord }](f, f.operator, append([]string{"webhooks", "deliveries", id}, args...)...).Deliveries
}

// register registers an endpoint of the phone system.
func (f webhooksFixture) register() string {
	f.Helper()
	v := eventstest.NewVault(f, bytes.Repeat([]byte("w"), 32))
	r := registry.New(f.database.RolePool(f, "callboard_operator"), "test")
	c, err := registry.NewCandidate("CRM", hookURL, registry.Target{Kind: registry.System, ID: uuid.MustParse(systemID)}, webhook.Kinds(), 8, v)
	if err == nil {
		err = r.Register(f.Context(), c)
	}
	if err == nil {
		err = r.Activate(f.Context(), c.ID(), registry.Origin{Stream: streamID(), Partitions: 1})
	}
	if err != nil {
		f.Fatal(err)
	}
	return c.ID().String()
}

func streamID() uuid.UUID { return uuid.MustParse("00000000-0000-4000-8000-00000000000a") }

// deliver creates waiting deliveries of calls CA1, CA2 and so on.
func (f webhooksFixture) deliver(endpoint string, count int) {
	f.Helper()
	f.exec(`insert into webhook.delivery (endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, at)
		select $1, $2, n, 'evt_' || n, 'call.ended', $3, 'CA' || n, now() from generate_series(1, $4::bigint) n`,
		endpoint, streamID(), systemID, count)
}

// finish ends a delivery in a state, after one attempt.
func (f webhooksFixture) finish(delivery, state string) {
	f.Helper()
	f.exec(`update webhook.delivery
		set state = $2, finished_at = now(), tries = 1, attempts = attempts || jsonb_build_object(
		  'at', now(), 'status', 503, 'error', 'status 503', 'answer', 'busy' || chr(27) || '[31m', 'ms', 7)
		where id = $1::bigint`, delivery, state)
}

func TestWebhooks_States(t *testing.T) {
	f := newWebhooksFixture(t)
	f.expect(0, `^No webhook endpoints\. `, "list")
	id := f.register()
	f.deliver(id, 3)
	f.expect(0, `(?m)^id +name +state +reason +url .*\n`+id+` +CRM +active +- +https://hooks\.example\.com/in\?… +system `+systemID+` +3 +0 +- +- +- +- +-$`, "list")
	f.expect(0, `^Endpoint `+id+` is paused\.\n$`, "pause", id, "--by", "Ada")
	f.expect(0, `is active\.\nDeliveries skipped: 3\.\n$`, "resume", id, "--skip")
	f.expect(1, `webhook endpoint `+id+` is active: pause it first`, "resume", id, "--skip")
	shown := f.show(id)
	if len(shown.Secrets) != 1 || len(shown.Audit) != 3 || shown.Audit[1].By != "Ada" || shown.Audit[1].Command != "pause" ||
		shown.Audit[1].Role != "callboard_operator" || shown.Audit[1].Before.State != "active" || shown.Audit[1].After.State != "paused" {
		t.Errorf("endpoint = %+v, want a secret and 3 changes, the second one by Ada", shown)
	}
	if by := shown.Audit[0].By; by == "" || by == "Ada" {
		t.Errorf("the last change is by %q, want the user of the operating system", by)
	}
	f.deliver(id, 1)
	if r := f.run("remove", id, "--json"); r.code != 0 || r.out != fmt.Sprintf(`{"id":%q,"state":"removed","skipped":1}`+"\n", id) {
		t.Errorf("remove: exit code = %d, output = %s%s, want one skipped", r.code, r.out, r.err)
	}
	f.expect(1, `webhook endpoint `+id+` is removed: add another one`, "pause", id)
}

func TestWebhooks_Deliveries(t *testing.T) {
	f := newWebhooksFixture(t)
	id := f.register()
	f.expect(0, `^No deliveries\.\n$`, "deliveries", id)
	if out := f.run("deliveries", id, "--json").out; out != `{"deliveries":[],"more":false}`+"\n" {
		t.Errorf("deliveries: output = %s, want an empty list", out)
	}
	f.deliver(id, 3)
	f.finish("1", "dead")
	f.finish("2", "delivered")
	f.expect(0, `(?m)^3 +\S+Z +call\.ended +CA3 +evt_3 +waiting +fired +- +\S+Z\n2 .*\n1 +\S+Z +call\.ended +CA1 +evt_1 +dead +fired +\S+Z 503 status 503 "busy\\x1b\[31m" 7 +-$`, "deliveries", id)
	dead := f.deliveries(id, "--state", "dead", "--since", "1h", "--kind", "call.ended", "--call-sid", "CA1")
	if len(dead) != 1 || dead[0].Delivery != "1" || dead[0].Identifiers["phoneSystemId"] != systemID || dead[0].Identifiers["callSid"] != "CA1" ||
		len(dead[0].Identifiers) != 2 || len(dead[0].Attempts) != 1 || *dead[0].Attempts[0].Status != 503 || dead[0].NextAt != nil {
		t.Errorf("deliveries = %+v, want the dead one", dead)
	}
	if r := f.run("deliveries", id, "--limit", "2"); !strings.Contains(r.err, "Only the newest 2 are listed") {
		t.Errorf("deliveries --limit 2: errors = %s, want a note", r.err)
	}
	f.expect(1, `^error: no webhook delivery has the ID 77\nRun 'callboard webhooks deliveries ID'`, "redeliver", "1", "77")
	f.expect(0, `^Deliveries that are sent again: 2\.\n$`, "redeliver", "1", "3")
	f.finish("1", "dead")
	if out := f.run("redeliver", "--endpoint", id, "--state", "dead", "--since", "2h", "--json").out; out != `{"redelivered":1}`+"\n" {
		t.Errorf("redeliver: output = %s, want 1", out)
	}
	if again := f.deliveries(id, "--state", "waiting"); len(again) != 2 || again[1].Cause != "redelivered" || len(again[1].Attempts) != 2 {
		t.Errorf("deliveries = %+v, want the first one redelivered, with its attempts", again)
	}
}

func TestWebhooks_Replay(t *testing.T) {
	f := newWebhooksFixture(t)
	id := f.register()
	f.exec("insert into projection.phone_system (partition, id, version, name) values (0, $1, 1, 'Office')", systemID)
	f.exec(`insert into webhook.notice (stream, partition, sequence, ordinal, id, kind, system_id, call_sid, at)
		select $1, 0, n, 0, 'evt_' || n, 'call.ended', $2, 'CA1', now() - interval '30 minutes' from generate_series(1, 100) n`, streamID(), systemID)
	f.exec("insert into webhook.fanout values ($1, 0, 100)", streamID())
	f.expect(1, `^error: replay: the range begins before what is kept: .*; begin at \S+Z or later\n$`, "replay", id, "--since", "1h")
	f.exec("update webhook.endpoint set created_at = now() - interval '1 day'")
	f.expect(0, `^Events in the range: 0\. None is sent\.\n$`, "replay", id, "--since", "1h", "--kinds", "voicemail.created", "--dry-run")
	f.expect(0, `^Events that are sent again: 100, over 2s\.\n$`, "replay", id, "--since", "1h")
	if list := f.deliveries(id); len(list) != 100 || list[0].Cause != "replayed" || list[0].Event != "evt_100" {
		t.Errorf("deliveries = %d, want 100, replayed", len(list))
	}
}
