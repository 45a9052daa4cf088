package scenario_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// canaries holds secrets by name, and the output of programs that hold them.
type canaries struct {
	secrets map[string]string
	outputs []output
}

// output is a text that a program has written.
type output struct{ where, text string }

func newCanaries() *canaries { return &canaries{secrets: map[string]string{}} }

func (c *canaries) addSecret(name, secret string) { c.secrets[name] = secret }

func (c *canaries) record(where, text string) { c.outputs = append(c.outputs, output{where, text}) }

// leaks returns where a secret was written and in which encoding, without the secret.
func (c *canaries) leaks() []string {
	var list []string
	for name, secret := range c.secrets {
		for form, text := range encodings(secret) {
			for _, o := range c.outputs {
				if strings.Contains(o.text, text) {
					list = append(list, fmt.Sprintf("%s has the %s (%s)", o.where, name, form))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

const plain = "plain"

// encodings returns the encodings of a secret that programs may write.
func encodings(secret string) map[string]string {
	digits := hex.EncodeToString([]byte(secret))
	quoted, _ := json.Marshal(secret) // a string always has a JSON form
	forms := map[string]string{
		plain:                      secret,
		"in JSON":                  strings.Trim(string(quoted), `"`),
		"in Go":                    strings.Trim(fmt.Sprintf("%q", secret), `"`),
		"as bytes":                 strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
		"in hexadecimal":           digits,
		"in capital hexadecimal":   strings.ToUpper(digits),
		"escaped for a URL query":  url.QueryEscape(secret),
		"escaped for a URL path":   url.PathEscape(secret),
		"escaped for a URL's user": strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
	}
	for before := range 3 {
		forms[fmt.Sprintf("in base64 after %d bytes", before)] = inBase64(base64.StdEncoding, secret, before)
		forms[fmt.Sprintf("in URL base64 after %d bytes", before)] = inBase64(base64.URLEncoding, secret, before)
	}
	maps.DeleteFunc(forms, func(form, text string) bool { return form != plain && text == secret })
	return forms
}

// inBase64 returns the part of an encoded secret that doesn't depend on the text around it. before is the number of preceding bytes,
// modulo 3.
func inBase64(encoding *base64.Encoding, secret string, before int) string {
	length := before + len(secret)
	text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
	return text[(before*8+5)/6 : length/3*4]
}

// The output of the programs has no secret: logs of all outcomes, answers, metrics, profiles, the dump of a crashing process, help
// texts, and errors about invalid settings.
func TestCanaries(t *testing.T) {
	i := newInstallation(t)
	i.run(0, i.environment("operator"), "callboard", "stream", "create")
	i.issue()
	i.publish()
	reader, projector := i.start("readapi", "reader"), i.start("projector", "projector")
	i.awaitStatus(200, "/call-logs")
	i.successes()
	i.refusals()
	sender := i.webhooks()
	i.failures()
	i.adminEndpoints()
	i.operatorCommands()
	projector.Await("reconnected to nats")
	projector.Await("session lost") // they look at their sessions at intervals
	sender.Await("webhook session lost")
	projector.stop(syscall.SIGTERM)
	sender.stop(syscall.SIGQUIT)
	reader.stop(syscall.SIGQUIT) // dumps all goroutines
	i.invalidSettings()
	// The search is worth something only if these were logged.
	reader.checkLog(`"status":200`, `"status":400`, `"status":401`, `"status":403`, `"status":404`, `"status":429`, `"status":500`, `"status":503`,
		"wrong secret", "missing or malformed", "nats", "SQLSTATE", "SIGQUIT", "goroutine 1 ")
	if sender.Err.Contains(answerSecret) {
		t.Error("the log of the sender has the answer of a receiver")
	}
	sender.checkLog("webhook session lost", "SIGQUIT", "goroutine 1 ")
	projector.checkLog("disconnected from nats", "reconnected to nats", "session lost")
	for _, leak := range i.leaks() {
		t.Error(leak)
	}
}

// request sends a request to the reader and records the answer.
func (i *installation) request(path string, header http.Header) (status int, body string) {
	i.Helper()
	status, body, shown := i.get("http://"+i.public+path, header)
	i.record(fmt.Sprintf("an answer of status %d", status), shown)
	return status, body
}

// get returns an answer's status, its body, and its headers and body as text.
func (i *installation) get(address string, header http.Header) (status int, body, shown string) {
	i.Helper()
	request, err := http.NewRequestWithContext(i.Context(), http.MethodGet, address, nil)
	if err != nil {
		i.Fatal(err)
	}
	request.Header = header
	response, err := i.client.Do(request)
	if err != nil {
		i.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		i.Fatal(err)
	}
	return response.StatusCode, string(text), fmt.Sprint(response.Header, "\n", string(text))
}

// expectStatus requests a path below the phone system's, and returns an error for another status.
func (i *installation) expectStatus(want int, below string) error {
	if status, body := i.request(i.path(below), i.header()); status != want {
		return fmt.Errorf("%s: status = %d, want %d: %s", below, status, want, body)
	}
	return nil
}

// awaitStatus requests a path until the status is the wanted one.
func (i *installation) awaitStatus(want int, below string) {
	i.Helper()
	eventstest.Eventually(i, fmt.Sprintf("status %d of %s", want, below), func() bool { return i.expectStatus(want, below) == nil })
}

func (i *installation) checkStatus(want int, below string) {
	i.Helper()
	if err := i.expectStatus(want, below); err != nil {
		i.Error(err)
	}
}

func (i *installation) path(below string) string {
	return "/v1/customer/phone-systems/" + i.system.String() + below
}

func (i *installation) header() http.Header { return http.Header{"X-Api-Key": {i.key}} }

// successes sends requests that succeed. The answer with the signed URL is not recorded.
func (i *installation) successes() {
	i.Helper()
	for _, below := range []string{"/call-logs", "/recordings", "/recordings/" + fullRecording, "/call-log-reports?limit=1&" + reportWindow, "/call-log-reports/dimensions"} {
		i.awaitStatus(200, below) // a report may have to wait for its budget
	}
	_, body, _ := i.get("http://"+i.public+i.path("/recordings/"+fullRecording+"/url"), i.header())
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(body), &link); err != nil || link.URL == "" {
		i.Fatalf("the answer has no URL: %v", err)
	}
	u, err := url.Parse(link.URL)
	if err != nil {
		i.Fatal(err)
	}
	i.addSecret("signed URL", link.URL)
	i.addSecret("signed URL's token", u.Path[strings.LastIndexByte(u.Path, '/')+1:])
	if status, audio := i.request(u.Path, http.Header{}); status != 200 || audio != fullAudio {
		i.Errorf("audio: status = %d, want 200: %s", status, audio)
	}
	if status, _ := i.request(u.Path, http.Header{"Range": {"bytes=99999-"}}); status != 416 {
		i.Errorf("range of the audio: status = %d, want 416", status)
	}
	if status, _ := i.request(u.Path+"x", http.Header{}); status != 404 {
		i.Errorf("altered URL: status = %d, want 404", status)
	}
}

const reportWindow = "dateFrom=2026-03-01T00:00:00Z&dateTo=2026-04-01T00:00:00Z"

// refusals sends the key in wrong places and wrong forms.
func (i *installation) refusals() {
	i.Helper()
	logs, key := i.path("/call-logs"), i.key
	for _, c := range []struct {
		want   int
		path   string
		header http.Header
	}{
		{400, logs + "?api_key=" + key, i.header()},
		{400, logs + "?callSid=" + key + key, i.header()},
		{400, i.path("/call-log-reports?cursor=" + key + "&" + reportWindow), i.header()},
		{400, i.path("/call-logs/" + key), i.header()},
		{401, logs + "?api_key=" + key, http.Header{}},
		{401, logs, http.Header{"X-Api-Key": {key + "x"}}},
		{401, logs, http.Header{"X-Api-Key": {key[:len(key)-1]}}},
		{401, logs, http.Header{"X-Api-Key": {key, key}}},
		{401, logs, http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("key:"+key))}}},
		{401, logs, http.Header{"X-Api-Key": {forged(access.Parse(key).Key)}}},
		{403, logs, http.Header{"X-Api-Key": {"sk_platform_" + key}}},
		{403, logs, http.Header{"Authorization": {"Bearer a.b." + key}}},
		{403, i.path("/phones"), i.header()},
		{404, "/" + key, i.header()},
		{404, "/v1/" + key, http.Header{}},
		{404, i.path("/call-logs/" + uuid.NewString()), i.header()},
		{200, logs, http.Header{
			"X-Api-Key": {key}, "User-Agent": {key}, "Referer": {key}, "Cookie": {"key=" + key}, "X-Forwarded-For": {key},
			"X-Request-Id": {key}, "If-None-Match": {key},
		}},
	} {
		if status, body := i.request(c.path, c.header); status != c.want {
			i.Errorf("%.60s: status = %d, want %d: %s", c.path, status, c.want, body)
		}
	}
}

// failures breaks the schema, stops NATS and kills PostgreSQL.
func (i *installation) failures() {
	i.Helper()
	pool := i.database.Pool(i)
	rename := func(statement string) {
		schematest.Exec(i, pool, statement)
	}
	rename("alter table projection.day_count rename count to counted")
	i.checkStatus(500, "/call-logs")
	rename("alter table projection.day_count rename counted to count")

	i.nats.Stop()
	i.awaitStatus(429, "/call-log-reports/dimensions")
	i.checkStatus(200, "/call-logs")
	i.nats.Start()
	i.awaitStatus(200, "/call-log-reports/dimensions")

	i.database.Cluster().Kill()
	i.awaitStatus(503, "/call-logs")
	i.adminEndpoints()
	if err := i.database.Cluster().Restart(i.Context()); err != nil {
		i.Fatal(err)
	}
	i.awaitStatus(200, "/call-logs")
}

// adminEndpoints records the answers of the admin listeners.
func (i *installation) adminEndpoints() {
	i.Helper()
	for name, address := range i.admins {
		for path, holds := range map[string]string{
			"/metrics": "go_goroutines", "/readyz": "", "/livez": "", "/debug/pprof/goroutine?debug=2": "goroutine",
			"/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/symbol": "num_symbols",
		} {
			_, body, shown := i.get("http://"+address+path, http.Header{})
			if !strings.Contains(body, holds) {
				i.Errorf("%s%s lacks %q: %s", name, path, holds, body)
			}
			i.record(name+path, shown)
		}
	}
}

// operatorCommands runs commands with the right and with wrong passwords.
func (i *installation) operatorCommands() {
	i.Helper()
	commands := [][]string{
		{"keys", "list"}, {"keys", "list", "--json"}, {"keys", "show", i.id}, {"keys", "show", i.id, "--json"}, {"keys", "audit", i.id},
		{"keys", "audit", i.id, "--json"}, {"status"}, {"status", "--json"}, {"stream", "check"},
	}
	const wrong = "wr0ng-p4ssword"
	i.addSecret("wrong password", wrong)
	database, err := url.Parse(i.database.RoleURL("callboard_operator"))
	if err != nil {
		i.Fatal(err)
	}
	database.User = url.UserPassword("callboard_operator", wrong)
	invalid := i.environment("operator", "CALLBOARD_POSTGRES_URL="+database.String(), "CALLBOARD_NATS_URL="+strings.Replace(i.nats.URL(), "://", "://callboard:"+wrong+"@", 1))
	for _, args := range commands {
		i.run(0, i.environment("operator"), "callboard", args...)
		i.run(1, invalid, "callboard", args...)
	}
}

// invalidSettings starts the programs with invalid settings that contain a secret, and prints their help.
func (i *installation) invalidSettings() {
	i.Helper()
	const invalid = "inv4l1d/s3tting"
	i.addSecret("invalid setting", invalid)
	bad := []string{
		"CALLBOARD_NATS_URL=http://callboard:" + invalid + "@127.0.0.1:4222", "CALLBOARD_POSTGRES_URL=postgres://me:" + invalid + "@127.0.0.1:x/y",
		"CALLBOARD_KEY_PEPPER=" + invalid, "CALLBOARD_WEBHOOK_KEY=" + invalid, "CALLBOARD_CURSOR_KEY=" + invalid, "CALLBOARD_AUDIO_URL=s3://key:" + invalid + "@bucket?secret=" + invalid,
	}
	for program, args := range map[string][]string{"readapi": nil, "projector": nil, "webhooks": nil, "callboard": {"status"}} {
		i.run(2, i.environment("reader", bad...), program, args...)
		i.run(2, i.environment("reader"), program, append(args, "--postgres-url", "mysql://me:"+invalid+"@host/x")...)
		i.run(2, i.environment("reader"), program, append(args, "--no-such-flag="+invalid)...)
		i.run(0, i.environment("reader"), program, append(args, "--help")...)
	}
	for _, command := range []string{"keys issue", "keys roll", "stream create", "publish", "migrate", "dev"} {
		i.run(0, i.environment("operator"), "callboard", append(strings.Fields(command), "--help")...)
	}
	i.run(2, i.environment("operator", "CALLBOARD_KEY_PEPPER="+invalid), "callboard", "keys", "roll", i.id)
}
