package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"callboard/events/eventstest"
	"callboard/events/webhook"
)

// sending is an installation that sends webhooks to a listener of this machine.
type sending struct {
	webhooksFixture
	listener *hookListener
	sender   *daemon
}

func newSending(t *testing.T) *sending {
	t.Helper()
	f := newWebhooksFixture(t)
	s := &sending{webhooksFixture: f, listener: startListener(t, nil)}
	s.operator["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"] = "127.0.0.0/8"
	s.startProjector()
	s.sender = s.startSender()
	return s
}

func (s *sending) startSender() *daemon {
	s.Helper()
	env := s.env(s.database.RoleURL("callboard_webhooks"))
	env["CALLBOARD_WEBHOOK_KEY"] = testWebhookKey()
	env["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"] = "127.0.0.0/8"
	env["CALLBOARD_WEBHOOK_CA_FILE"] = s.listener.CA
	d := start(s, "webhooks", env)
	d.Await(`"message":"connected to nats"`) // a test of an endpoint waits 20 s for a sender
	return d
}

func (s *sending) publish(lines string) {
	s.Helper()
	succeed(s, s.operator, lines, "publish", "-")
}

// events returns the events that the listener has printed, each once, without tests. A sender that is killed before
// it has recorded an answer sends the event again.
func (s *sending) events() (list []received) {
	s.Helper()
	seen := map[string]bool{}
	for line := range strings.Lines(s.listener.Out.String()) {
		var r received
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.ID == "" || strings.Contains(string(r.Event), string(webhook.Test)) || seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		list = append(list, r)
	}
	return list
}

type addedRecord struct {
	endpointRecord
	Secret string
}

// add registers an endpoint of the phone system.
func (s *sending) add(args ...string) addedRecord {
	s.Helper()
	return succeedJSON[addedRecord](s, s.operator, append([]string{
		"webhooks", "add", s.listener.URL + "in?token=hunter2", "--name", "CRM", "--system", systemID, "--kinds", "all",
	}, args...)...)
}

// What becomes fetchable after an endpoint was added is sent to it, and nothing of before. Processes can be killed.
func TestWebhooks_Add(t *testing.T) {
	s := newSending(t)
	s.publish(fixtureLines())
	added := s.add("--concurrency", "4", "--by", "Ada")
	if _, err := webhook.ParseSecret(added.Secret); err != nil || added.State != "active" || added.Name != "CRM" || len(added.Kinds) != 5 ||
		added.URL != s.listener.URL+"in?…" || added.Grant.Kind != "system" || added.Grant.ID != systemID {
		t.Errorf("endpoint = %+v, error = %v, want an active one with a secret", added.endpointRecord, err)
	}
	ended := func(version int) string {
		return strings.ReplaceAll(strings.ReplaceAll(strings.Split(fixtureLines(), "\n")[2], ownCallID, strings.Replace(ownCallID, "0b9f", fmt.Sprintf("%04d", version), 1)),
			strings.ReplaceAll(ownCallID, "-", ""), fmt.Sprintf("%032d", version))
	}
	s.publish(ended(1) + "\n" + ended(1) + "\n" + ended(2))
	eventstest.Eventually(t, "two events", func() bool { return len(s.events()) == 2 })
	s.sender.Signal(os.Kill)
	s.sender.Wait(time.Minute)
	s.publish(ended(3))
	s.startSender()
	eventstest.Eventually(t, "three events", func() bool { return len(s.events()) == 3 })
	var bodies []string
	for _, r := range s.events() {
		bodies = append(bodies, string(r.Event))
	}
	slices.Sort(bodies)
	for i, body := range bodies {
		var e struct {
			Type string
			Data map[string]string
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Type != "call.ended" || len(e.Data) != 2 || e.Data["phoneSystemId"] != systemID {
			t.Errorf("event %d = %s, want the end of a call", i, body)
		}
	}
	eventstest.Eventually(t, "three deliveries", func() bool { return len(s.deliveries(added.ID, "--state", "delivered")) == 3 })
	if shown := s.show(added.ID); len(shown.Audit) != 1 || shown.Audit[0].By != "Ada" || shown.Audit[0].Command != "add" {
		t.Errorf("audit = %+v, want that Ada added it", shown.Audit)
	}
	s.expect(0, `^status 204 after \d+ ms\n$`, "test", added.ID)
}

// An endpoint that does not answer its test is not registered, unless no test is wanted.
func TestWebhooks_AddRefused(t *testing.T) {
	s := newSending(t)
	s.listener.StopCleanly(os.Interrupt)
	add := []string{"add", s.listener.URL, "--name", "CRM", "--system", systemID, "--kinds", "call.ended"}
	s.expect(1, `(?s)the test failed: no answer.*Nothing was registered`, add...)
	if out := s.run("list", "--json").out; out != `{"endpoints":[]}`+"\n" {
		t.Errorf("list = %s, want no endpoint", out)
	}
	s.expect(0, `(?s)^whsec_\S+\n\nThis is the secret .*is active`, append(add, "--no-test")...)
	id := succeedJSON[struct{ Endpoints []endpointRecord }](t, s.operator, "webhooks", "list").Endpoints[0].ID
	s.expect(0, `(?s)concurrency +2\n`, "set", id, "--concurrency", "2", "--name", "Other", "--kinds", "voicemail.created", "--url", "https://hooks.example.com/?token=hunter2")
	if shown := s.show(id); shown.Name != "Other" || shown.URL != "https://hooks.example.com/?…" || shown.Concurrency != 2 || !slices.Equal(shown.Kinds, []string{"voicemail.created"}) {
		t.Errorf("endpoint = %+v, want the changes", shown)
	}
}
