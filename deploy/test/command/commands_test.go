package command_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/readapi/access"
)

// Every command about keys, dead letters and endpoints does what it says, as a process. Packages prove the rules behind
// the commands.
func TestCommands(t *testing.T) {
	f := newFleet(t)
	f.startProjector()
	succeed(t, f.operator(), fixtureLines(), "publish", "-")
	t.Run("keys", func(t *testing.T) { checkKeys(t, f.in(t)) })
	t.Run("dead letters", func(t *testing.T) { checkDeadLetters(t, f.in(t)) })
	t.Run("webhooks", func(t *testing.T) { checkWebhooks(t, f.in(t)) })
}

func checkKeys(t *testing.T, f *fleet) {
	t.Helper()
	discovery := f.startReader().base + "/customer/phone-systems"
	expect(t, f.operator(), 0, `^\[\]\n$`, "keys", "list", "--json")
	old := issueKey(t, f.operator(), systemID, "--name", "a\x1b[31m", "--scopes", "calls:read", "--expires", "30d",
		"--allow", "127.0.0.0/8", "--tier", "premium")
	out := succeed(t, f.operator(), "", "keys", "roll", old.ID, "--overlap", "1d12h")
	rolled := regexp.MustCompile(`sk_phones_\w{60,}`).FindString(out)
	id := regexp.MustCompile(`(?m)^id +(\S+)$`).FindStringSubmatch(out)
	if rolled == "" || id == nil || !strings.Contains(out, "The old key, "+old.ID+", is valid until ") {
		t.Fatal("keys roll: want a new key, its id, and how long the old one is valid")
	}
	for _, key := range []string{old.Key, rolled} {
		expectStatus(t, discovery, key, http.StatusOK)
	}
	f.run(
		step{0, `"a\\x1b\[31m"`, []string{"keys", "list"}},
		step{0, `(?m)^` + id[1] + ` +active`, []string{"keys", "show", old.ID}},
		step{0, id[1] + ` of the same lineage is still active`, []string{"keys", "revoke", old.ID}},
		step{1, `no key has the id `, []string{"keys", "roll", uuid.NewString()}},
		step{2, `--since`, []string{"keys", "audit", old.ID, "--since", "7 days"}},
	)
	expectStatus(t, discovery, old.Key, http.StatusUnauthorized)
	eventstest.Eventually(t, "the key's requests are in the audit", func() bool {
		return shows(t, f.operator(), "listAccessiblePhoneSystems", "keys", "audit", old.ID, "--since", "2h")
	})
}

func checkDeadLetters(t *testing.T, f *fleet) {
	t.Helper()
	f.run(step{0, `^None\.\n\n0 open, of which 0 waiting for a retry\.\n$`, []string{"dead-letters", "list"}})
	f.publishNoEvent()
	eventstest.Eventually(t, "a dead letter", func() bool {
		return shows(t, f.operator(), systemID, "dead-letters", "list")
	})
	f.run(
		step{0, `(?s)state +open\n.*advice +.*\nData, 13 bytes:\n\\x1b\[31mno JSON\\xff\n$`,
			[]string{"dead-letters", "show", "1"}},
		step{1, `\n1 +open +false +\w.*\n$`, []string{"dead-letters", "retry", "1", "--timeout", "5m"}},
		step{0, `tries +1\n`, []string{"dead-letters", "show", "1"}},
		step{1, `no message was skipped`, []string{"dead-letters", "skip", "0"}},
		step{1, `^error: no dead letter has the ID 4711\n`, []string{"dead-letters", "drop", "1", "4711"}},
		step{0, `\n1 +dropped +false [^\n]+\n$`, []string{"dead-letters", "drop", "1"}},
		step{0, `\n1 .* dropped (?s:.*)\n0 open`, []string{"dead-letters", "list", "--all"}},
		step{2, `--limit`, []string{"dead-letters", "list", "--limit", "0"}},
	)
}

func checkWebhooks(t *testing.T, f *fleet) {
	t.Helper()
	f.run(step{0, `^No webhook endpoints\. `, []string{"webhooks", "list"}})
	id := f.addEndpoint()
	f.run(
		step{0, `(?m)^` + id + ` +CRM +active .* https://hooks\.example\.com/in\?… `, []string{"webhooks", "list"}},
		step{0, `(?s)concurrency +2\n`, []string{"webhooks", "set", id, "--concurrency", "2", "--name", "Other"}},
		step{0, `^Endpoint ` + id + ` is paused\.\n$`, []string{"webhooks", "pause", id, "--by", "Ada"}},
		step{0, `is active\.\nDeliveries skipped: 0\.\n$`, []string{"webhooks", "resume", id, "--skip"}},
		step{1, `webhook endpoint ` + id + ` is active: pause it first`, []string{"webhooks", "resume", id, "--skip"}},
		step{0, `"by":"Ada"`, []string{"webhooks", "show", id, "--json"}},
		step{0, `^No deliveries\.\n$`, []string{"webhooks", "deliveries", id}},
		step{1, `^error: no webhook delivery has the ID 77\n`, []string{"webhooks", "redeliver", "77"}},
		step{1, `^error: replay: the range begins before what is kept`, []string{"webhooks", "replay", id, "--since", "1h"}},
		step{0, `^whsec_\S+\n`, []string{"webhooks", "rotate", id}},
		step{0, `"state":"removed","skipped":0`, []string{"webhooks", "remove", id, "--json"}},
		step{1, `webhook endpoint ` + id + ` is removed: add another one`, []string{"webhooks", "pause", id}},
	)
}

// step is a command with its exit code and a pattern of its output.
type step struct {
	code    int
	pattern string
	args    []string
}

func (f *fleet) run(steps ...step) {
	f.Helper()
	for _, s := range steps {
		expect(f, f.operator(), s.code, s.pattern, s.args...)
	}
}

// addEndpoint registers an endpoint without a test of it. No command prints the query of its URL.
func (f *fleet) addEndpoint() (id string) {
	f.Helper()
	return succeedJSON[struct{ ID string }](f, f.operator(), "webhooks", "add", "https://hooks.example.com/in?token=x",
		"--no-test", "--name", "CRM", "--system", systemID, "--kinds", "all").ID
}

// publishNoEvent publishes a message that becomes a dead letter.
func (f *fleet) publishNoEvent() {
	f.Helper()
	js, subject := eventstest.JetStream(f, f.nats.URL()), events.Subject(uuid.MustParse(systemID), events.EntityCall)
	if _, err := js.Publish(f.Context(), subject, []byte("\x1b[31mno JSON\xff")); err != nil {
		f.Fatal(err)
	}
}

// Revocations and rolls are in NATS as in the database when the command has ended. Without NATS, and without the
// stream, they take effect in the database, and the command says what is missing.
func TestKeys_Journal(t *testing.T) {
	f := newFleet(t)
	var keys []keyWithID
	for range 4 {
		keys = append(keys, issueKey(t, f.operator(), systemID, "--name", "test", "--scopes", "calls:read"))
	}
	check := func(key keyWithID, state string, recorded bool) {
		t.Helper()
		shown := succeedJSON[access.Record](t, f.operator(), "keys", "show", key.ID)
		e, found := f.journalEntries()[key.ID]
		same := e.Same(events.KeyEnd{ID: e.ID, RevokedAt: shown.RevokedAt, ExpiresAt: shown.ExpiresAt})
		if string(shown.State) != state || found != recorded || found && !same {
			t.Errorf("key = %+v, entry = %+v, want %s, recorded: %t", shown, e, state, recorded)
		}
	}
	f.run(step{0, ``, []string{"keys", "revoke", keys[0].ID}}, step{0, ``, []string{"keys", "roll", keys[1].ID}})
	check(keys[0], "revoked", true)
	check(keys[1], "active", true)
	check(keys[3], "active", false)

	f.nats.Stop()
	f.run(step{1, `is revoked in the database, but that is not recorded in stream KEYS(?s:.*)Run the command again`,
		[]string{"keys", "revoke", keys[2].ID}})
	r := command(t, f.operator(), "", "keys", "roll", keys[3].ID)
	advice := "run 'callboard keys revoke " + keys[3].ID + "'"
	if r.code != 1 || !strings.HasPrefix(r.out, "sk_phones_") || !strings.Contains(r.err, advice) {
		t.Errorf("keys roll without NATS: exit code = %d, bytes = %d, error = %s, want 1, the new key and %s",
			r.code, len(r.out), r.err, advice)
	}
	f.nats.Start()
	check(keys[2], "revoked", false)
	succeed(t, f.operator(), "", "keys", "revoke", keys[2].ID)
	check(keys[2], "revoked", true)

	if err := eventstest.JetStream(t, f.nats.URL()).DeleteStream(t.Context(), events.KeyStream); err != nil {
		t.Fatal(err)
	}
	f.run(
		step{1, `(?s)not recorded in stream KEYS: .*run 'callboard stream create'`, []string{"keys", "revoke", keys[3].ID}},
		step{0, `KEYS_JOURNAL_MISSING: .*run 'callboard stream create'`, []string{"status"}},
		step{0, ``, []string{"stream", "create"}},
	)
	check(keys[3], "revoked", false)

	// Commands that end no key need no NATS.
	env := f.operator()
	delete(env, "CALLBOARD_NATS_URL")
	succeed(t, env, "", "keys", "list")
	expect(t, env, 2, `CALLBOARD_NATS_URL`, "keys", "revoke", keys[1].ID)
}

// journalEntries returns the entries of the stream of key revocations and expiries, by key.
func (f *fleet) journalEntries() map[string]events.KeyEnd {
	f.Helper()
	entries := map[string]events.KeyEnd{}
	js := eventstest.JetStream(f, f.nats.URL())
	_, err := new(events.KeyEndReader).Read(f.Context(), js, func(list []events.KeyEnd) error {
		for _, e := range list {
			entries[e.ID.String()] = e
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return entries
}

// An endpoint is tested and then added. What becomes fetchable afterwards is sent to it, and nothing of before.
// 'webhooks listen' receives and verifies it.
func TestWebhooks_AddAndListen(t *testing.T) {
	f := newFleet(t)
	f.startProjector()
	certificate := filepath.Join(t.TempDir(), "listen.pem")
	listen := func(settings map[string]string) (listener *daemon, url string) {
		listener = start(t, "callboard", settings, "webhooks", "listen", "--json", "--certificate", certificate)
		return listener, listener.Await(`"url":"([^"]+)"`)[1]
	}
	listener, url := listen(nil)
	env := f.env(f.database.RoleURL("callboard_webhooks"))
	env["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"], env["CALLBOARD_WEBHOOK_CA_FILE"] = "127.0.0.0/8", certificate
	sender := start(t, "webhooks", env)
	sender.Await(`"message":"connected to nats"`) // a test of an endpoint waits 20 s for a sender
	f.waitUntilCaughtUp()
	succeed(t, f.operator(), fixtureLines(), "publish", "-")

	operator := f.operator()
	operator["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"] = "127.0.0.0/8"
	add := []string{"webhooks", "add", url, "--name", "CRM", "--system", systemID, "--kinds", "all", "--json"}
	var added struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(succeed(t, operator, "", add...)), &added); err != nil {
		t.Fatal(err)
	}
	ended := strings.ReplaceAll(strings.Split(fixtureLines(), "\n")[2], ownCallID, uuid.NewString())
	succeed(t, operator, ended, "publish", "-")
	listener.Await(`"verified":false,"event":\{"type":"call.ended"`)
	if n := strings.Count(listener.Out.String(), `"call.ended"`); n != 1 {
		t.Errorf("events = %d, want 1, of the call after the endpoint was added: %s", n, listener.Out)
	}
	listener.StopCleanly(os.Interrupt)
	expect(t, operator, 1, `(?s)the test failed: no answer.*Nothing was registered`, add[:len(add)-1]...)

	// The certificate stays the same, and the secret verifies what is sent from now on.
	before, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	listener, url = listen(map[string]string{"CALLBOARD_WEBHOOK_SECRET": added.Secret})
	succeed(t, operator, "", "webhooks", "set", added.ID, "--url", url)
	expect(t, operator, 0, `^status 204 after \d+ ms\n$`, "webhooks", "test", added.ID)
	listener.Await(`"verified":true`)
	if after, err := os.ReadFile(certificate); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the certificate has changed, %v, want the certificate of the file", err)
	}
}
