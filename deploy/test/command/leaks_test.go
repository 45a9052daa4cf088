package command_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"

	"callboard/events/eventstest"
	"callboard/events/webhook"
	"callboard/schema/schematest"
)

// canaries are an installation with secrets in its settings, and all that its programs have written.
type canaries struct {
	*fleet
	natsURL string            // with the password
	secrets map[string]string // by name
	written map[string]string // by where it was written
	key     keyWithID
	reader  reader
}

// natsPassword has characters that need escaping.
const natsPassword = `n4ts/p%ss w+rd"`

func newCanaries(t *testing.T) *canaries {
	t.Helper()
	c := &canaries{
		fleet: &fleet{
			T: t, database: schematest.New(t), pepper: testPepper(),
			nats: eventstest.NewServer(t, func(o *server.Options) { o.Username, o.Password = "callboard", natsPassword }),
		},
		secrets: map[string]string{"password of NATS": natsPassword, "pepper": strings.Repeat("p", 32), "webhook key": strings.Repeat("w", 32)},
		written: map[string]string{},
	}
	c.pool = c.database.Pool(t)
	c.natsURL = strings.Replace(c.nats.URL(), "://", "://"+url.UserPassword("callboard", natsPassword).String()+"@", 1)
	u, err := url.Parse(c.database.RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	c.secrets["password of PostgreSQL"], _ = u.User.Password()
	return c
}

// settings returns the environment of a program that connects to PostgreSQL with a role.
func (c *canaries) settings(role string, changes ...string) map[string]string {
	env := c.env(c.database.RoleURL("callboard_" + role))
	env["CALLBOARD_NATS_URL"], env["CALLBOARD_LOG_LEVEL"] = c.natsURL, "debug"
	env["CALLBOARD_WEBHOOK_ALLOW_NETWORKS"] = "127.0.0.0/8"
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		env[name] = value
	}
	return env
}

func (c *canaries) record(where, text string) { c.written[where] += text }

// run runs a command and records what it writes.
func (c *canaries) run(code int, env map[string]string, args ...string) {
	c.Helper()
	r := command(c, env, "", args...)
	if r.code != code {
		c.Errorf("%v: exit code = %d, want %d: %s", args, r.code, code, r.err)
	}
	c.record(strings.Join(args, " "), r.out+r.err)
}

// add runs a command that prints a new secret, which is known from then on and is not searched in this output.
func (c *canaries) add(name string, args ...string) (added struct{ ID, Key, Secret string }) {
	c.Helper()
	if err := json.Unmarshal([]byte(succeed(c, c.settings("operator"), "", append(args, "--json")...)), &added); err != nil {
		c.Fatal(err)
	}
	secret := added.Key + added.Secret
	c.secrets[name], c.secrets[name+", its last part"] = secret, secret[strings.LastIndexByte(secret, '_')+1:]
	return added
}

// request requests a URL of the reader and records the answer.
func (c *canaries) request(want int, address string, header http.Header) {
	c.Helper()
	if got, body := c.answer(address, header); got != want {
		c.Errorf("%.60s: status = %d, want %d: %s", address, got, want, body)
	}
}

func (c *canaries) answer(address string, header http.Header) (status int, body string) {
	c.Helper()
	request, err := http.NewRequestWithContext(c.Context(), http.MethodGet, address, nil)
	if err != nil {
		c.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatal(err)
	}
	c.record(fmt.Sprintf("an answer of status %d", response.StatusCode), fmt.Sprint(response.Header, string(text)))
	return response.StatusCode, string(text)
}

// awaitStatus requests a path below the phone system's until the status is the wanted one.
func (c *canaries) awaitStatus(want int, below string) {
	c.Helper()
	eventstest.Eventually(c, fmt.Sprintf("status %d of %s", want, below), func() bool {
		status, _ := c.answer(c.path(below), c.keyHeader())
		return status == want
	})
}

func (c *canaries) path(below string) string {
	return c.reader.base + "/customer/phone-systems/" + systemID + below
}

func (c *canaries) keyHeader() http.Header { return http.Header{"X-Api-Key": {c.key.Key}} }

// No program writes a secret: logs of all outcomes, answers, metrics, profiles, dumps of goroutines, help, and
// errors about settings.
func TestSecrets_AreNotWritten(t *testing.T) {
	c := newCanaries(t)
	c.run(0, c.settings("operator"), "stream", "create")
	added := c.add("key", "keys", "issue", "--name", "canary", "--system", systemID, "--scopes", "calls:read,recordings:read")
	c.key = keyWithID{added.ID, added.Key}
	const recording = `{"type":"callboard.recording.changed","data":{"recordingSid":"RE1","phoneSystemId":"` + systemID + `","callId":"` + ownCallID +
		`","version":1,"status":"ready","createdAt":"2026-03-02T09:34:06Z","audio":{"key":"a.wav","contentType":"audio/wav","bytes":1}}}`
	succeed(t, c.settings("operator"), fixtureLines()+"\n"+recording, "publish", "-")
	audio := t.TempDir()
	if err := os.WriteFile(filepath.Join(audio, "a.wav"), []byte("audio"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.reader = c.startReaderWith(c.settings("reader"), map[string]string{"CALLBOARD_AUDIO_URL": "file://" + audio})
	projector := start(t, "projector", c.settings("projector"))

	c.awaitStatus(200, "/recordings/RE1")
	c.requests()
	sender := c.sendWebhooks()
	c.failures()
	for _, admin := range []string{c.reader.admin, "http://" + projector.Await(`"admin":"([^"]+)"`)[1]} {
		for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
			c.answer(admin+path, http.Header{})
		}
	}
	c.operatorCommands()
	projector.Await("reconnected to nats")
	projector.Await("session lost") // they look at their sessions at intervals
	sender.Await("webhook session lost")
	for d, signal := range map[*daemon]os.Signal{projector: syscall.SIGTERM, sender: syscall.SIGQUIT, c.reader.Process: syscall.SIGQUIT} {
		d.Stop(signal)
		c.record("the log of "+d.Name(), d.Out.String()+d.Err.String())
	}
	c.invalidSettings()

	// The search is worth something only if these were logged.
	for _, text := range []string{
		`"status":200`, `"status":401`, `"status":403`, `"status":404`, `"status":429`, `"status":500`, `"status":503`, "wrong secret", "SQLSTATE", "goroutine 1 ",
	} {
		if !c.reader.Err.Contains(text) {
			t.Errorf("the log of the reader lacks %s", text)
		}
	}
	for name, secret := range c.secrets {
		for form, text := range encodings(secret) {
			for where, written := range c.written {
				if strings.Contains(written, text) {
					t.Errorf("%s has the %s (%s)", where, name, form)
				}
			}
		}
	}
}

// encodings returns the forms of a secret that programs may write.
func encodings(secret string) map[string]string {
	quoted, _ := json.Marshal(secret) // a string always has a JSON form
	forms := map[string]string{
		"plain":                   secret,
		"in JSON":                 strings.Trim(string(quoted), `"`),
		"as bytes":                strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
		"in hexadecimal":          hex.EncodeToString([]byte(secret)),
		"escaped for a URL query": url.QueryEscape(secret),
		"escaped for a URL path":  url.PathEscape(secret),
		"escaped for a user":      strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
	}
	// The part of the base64 that does not depend on the text around it.
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		forms[fmt.Sprintf("in base64 after %d bytes", before)] = text[(before*8+5)/6 : (before+len(secret))/3*4]
	}
	return forms
}

// requests sends the key in the right place, in wrong places and in wrong forms, and follows a signed URL.
func (c *canaries) requests() {
	c.Helper()
	logs, key := c.path("/call-logs"), c.key.Key
	_, body := get(c, c.path("/recordings/RE1/url"), key) // the answer has the secret
	var link struct{ URL string }
	if err := json.Unmarshal(body, &link); err != nil {
		c.Fatal(err)
	}
	token := link.URL[strings.LastIndexByte(link.URL, '/')+1:]
	c.secrets["token of a signed URL"] = token
	served := strings.TrimSuffix(c.reader.base, "/v1") + "/audio/" + token
	c.request(200, served, http.Header{})
	c.request(416, served, http.Header{"Range": {"bytes=99999-"}})
	c.request(404, served+"x", http.Header{})
	for _, r := range []struct {
		want   int
		url    string
		header http.Header
	}{
		{200, logs, http.Header{
			"X-Api-Key": {key}, "User-Agent": {key}, "Referer": {key}, "Cookie": {"key=" + key}, "X-Forwarded-For": {key}, "X-Request-Id": {key},
		}},
		{400, logs + "?api_key=" + key, c.keyHeader()},
		{400, c.path("/call-logs/" + key), c.keyHeader()},
		{401, logs + "?api_key=" + key, http.Header{}},
		{401, logs, http.Header{"X-Api-Key": {key + "x"}}},
		{401, logs, http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("key:"+key))}}},
		{403, logs, http.Header{"X-Api-Key": {"sk_platform_" + key}}},
		{403, c.path("/phones"), c.keyHeader()},
		{404, c.reader.base + "/" + key, http.Header{}},
		{404, c.path("/call-logs/" + uuid.NewString()), c.keyHeader()},
	} {
		c.request(r.want, r.url, r.header)
	}
	const invert = "update access.key set hash = set_byte(hash, 0, get_byte(hash, 0) # 255)"
	c.exec(invert)
	c.request(401, logs, c.keyHeader()) // wrong secret
	c.exec(invert)
}

// sendWebhooks starts a sender. One endpoint accepts a test and refuses what follows; another one can't be reached.
func (c *canaries) sendWebhooks() *daemon {
	c.Helper()
	const answer, token = "answ3r-of-a-receiver", "t0ken-in-a-query"
	var requests atomic.Int32
	var signature atomic.Pointer[string]
	receiver := eventstest.StartTLS(c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			_, value, _ := strings.Cut(r.Header.Get(webhook.HeaderSignature), ",")
			signature.Store(&value)
			http.Error(w, answer, http.StatusInternalServerError)
		}
	}))
	ca := filepath.Join(c.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	if err := os.WriteFile(ca, certificate, 0o600); err != nil {
		c.Fatal(err)
	}
	env := c.settings("webhooks", "CALLBOARD_WEBHOOK_CA_FILE="+ca, "CALLBOARD_WEBHOOK_RETRIES=100ms")
	sender := start(c, "webhooks", env)
	sender.Await(`"message":"connected to nats"`) // a test of an endpoint waits 20 s for a sender

	c.secrets["query of a URL"] = token
	for i, to := range []string{receiver.URL + "/in?token=" + token, "https://127.0.0.1:1/?token=" + token} {
		args := []string{"webhooks", "add", to, "--name", "canary", "--system", systemID, "--kinds", "all"}
		if i == 1 {
			args = append(args, "--no-test")
		}
		id := c.add(fmt.Sprint("secret of endpoint ", i), args...).ID
		c.run(0, c.settings("operator"), "webhooks", "show", id, "--json")
	}
	ended := strings.ReplaceAll(strings.Split(fixtureLines(), "\n")[2], ownCallID, uuid.NewString())
	succeed(c, c.settings("operator"), ended, "publish", "-")
	eventstest.Eventually(c, "a request was refused", func() bool { return signature.Load() != nil })
	c.secrets["signature"], c.secrets["answer of a receiver"] = *signature.Load(), answer
	c.run(0, c.settings("operator"), "webhooks", "list")
	return sender
}

// failures breaks the schema, stops NATS and kills PostgreSQL.
func (c *canaries) failures() {
	c.Helper()
	c.exec("alter table projection.row_count rename count to counted")
	c.awaitStatus(500, "/call-logs")
	c.exec("alter table projection.row_count rename counted to count")

	c.nats.Stop()
	c.awaitStatus(429, "/call-log-reports/dimensions")
	c.nats.Start()
	c.awaitStatus(200, "/call-log-reports/dimensions")

	c.database.Cluster().Kill()
	c.awaitStatus(503, "/call-logs")
	if err := c.database.Cluster().Restart(c.Context()); err != nil {
		c.Fatal(err)
	}
	c.awaitStatus(200, "/call-logs")
}

// operatorCommands runs commands with the right and with wrong passwords.
func (c *canaries) operatorCommands() {
	c.Helper()
	const wrong = "wr0ng-p4ssword"
	c.secrets["wrong password"] = wrong
	database, err := url.Parse(c.database.RoleURL("callboard_operator"))
	if err != nil {
		c.Fatal(err)
	}
	database.User = url.UserPassword("callboard_operator", wrong)
	nats := strings.Replace(c.nats.URL(), "://", "://callboard:"+wrong+"@", 1)
	invalid := c.settings("operator", "CALLBOARD_POSTGRES_URL="+database.String(), "CALLBOARD_NATS_URL="+nats)
	for _, args := range [][]string{{"keys", "list"}, {"keys", "show", c.key.ID, "--json"}, {"keys", "audit", c.key.ID}, {"status"}, {"stream", "check"}} {
		c.run(0, c.settings("operator"), args...)
		c.run(1, invalid, args...)
	}
}

// invalidSettings starts the programs with invalid settings that contain a secret, and prints their help.
func (c *canaries) invalidSettings() {
	c.Helper()
	const invalid = "inv4l1d/s3tting"
	c.secrets["invalid setting"] = invalid
	bad := c.settings("reader",
		"CALLBOARD_NATS_URL=http://callboard:"+invalid+"@127.0.0.1:4222", "CALLBOARD_POSTGRES_URL=postgres://me:"+invalid+"@127.0.0.1:x/y",
		"CALLBOARD_KEY_PEPPER="+invalid, "CALLBOARD_WEBHOOK_KEY="+invalid, "CALLBOARD_CURSOR_KEY="+invalid,
		"CALLBOARD_AUDIO_URL=s3://key:"+invalid+"@bucket?secret="+invalid,
	)
	for name, args := range map[string][]string{"readapi": nil, "projector": nil, "webhooks": nil, "callboard": {"status"}} {
		for _, r := range []result{
			program(c, name, bad, args...),
			program(c, name, c.settings("reader"), append(args, "--postgres-url", "mysql://me:"+invalid+"@host/x")...),
			program(c, name, c.settings("reader"), append(args, "--no-such-flag="+invalid)...),
		} {
			c.record(name, r.out+r.err)
			if r.code != 2 {
				c.Errorf("%s with invalid settings: exit code = %d, want 2: %s", name, r.code, r.err)
			}
		}
		help := program(c, name, c.settings("reader"), append(args, "--help")...)
		c.record(name+" --help", help.out+help.err)
	}
}
