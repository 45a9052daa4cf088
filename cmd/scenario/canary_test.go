package scenario_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// No secret is in anything that the programs say: their logs over all outcomes, what they answer, their metrics and profiles, the
// dump of a dying process, their help, and their complaints about settings.
func TestCanaries(t *testing.T) {
	i := newInstall(t)
	i.run(0, i.as("operator"), "callboard", "stream", "create")
	i.issue()
	i.publish()
	reader, projector := i.start("readapi", "reader"), i.start("projector", "projector")
	i.eventually(func() error { return i.answers(200, "/call-logs") })
	i.succeeds()
	i.refuses()
	i.fails()
	i.measures()
	i.operates()
	projector.end(syscall.SIGTERM)
	reader.end(syscall.SIGQUIT) // with a dump of all that it does
	i.complains()
	// What nobody has said proves nothing.
	reader.mentions(`"status":200`, `"status":400`, `"status":401`, `"status":403`, `"status":404`, `"status":429`, `"status":500`, `"status":503`,
		"wrong secret", "missing or malformed", "nats", "SQLSTATE", "SIGQUIT", "goroutine 1 ")
	projector.mentions("disconnected from nats", "reconnected to nats", "session lost")
	for _, leak := range i.found() {
		t.Error(leak)
	}
}

// ask asks the reader with a header and hears the answer.
func (i *install) ask(path string, header http.Header) (status int, body string) {
	i.t.Helper()
	status, body, shown := i.get("http://"+i.public+path, header)
	i.hear(fmt.Sprintf("an answer of status %d", status), shown)
	return status, body
}

// get is an answer's status and body, and all of it as text.
func (i *install) get(address string, header http.Header) (status int, body, shown string) {
	i.t.Helper()
	request, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	request.Header = header
	response, err := i.client.Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		i.t.Fatal(err)
	}
	return response.StatusCode, string(text), fmt.Sprint(response.Header, "\n", string(text))
}

// answers fails unless the reader does so to a path below the phone system's.
func (i *install) answers(want int, below string) error {
	if status, body := i.ask(i.path(below), i.header()); status != want {
		return fmt.Errorf("%s: %d %s", below, status, body)
	}
	return nil
}

// holds is answers, at once.
func (i *install) holds(want int, below string) {
	i.t.Helper()
	if err := i.answers(want, below); err != nil {
		i.t.Errorf("want %d: %v", want, err)
	}
}

func (i *install) path(below string) string {
	return "/v1/customer/phone-systems/" + i.system.String() + below
}

func (i *install) header() http.Header { return http.Header{"X-Api-Key": {i.key}} }

// succeeds asks for what is there, and follows a link to a sound. The link is in the one answer that is for nobody else to hear.
func (i *install) succeeds() {
	i.t.Helper()
	for _, below := range []string{"/call-logs", "/recordings", "/recordings/" + fullSound, "/call-log-reports?limit=1&" + reportWindow, "/call-log-reports/dimensions"} {
		i.eventually(func() error { return i.answers(200, below) }) // a report may have to wait for its budget
	}
	_, body, _ := i.get("http://"+i.public+i.path("/recordings/"+fullSound+"/url"), i.header())
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(body), &link); err != nil || link.URL == "" {
		i.t.Fatalf("no link: %v", err)
	}
	u, err := url.Parse(link.URL)
	if err != nil {
		i.t.Fatal(err)
	}
	i.hide("signed URL", link.URL)
	i.hide("signed URL's token", u.Path[strings.LastIndexByte(u.Path, '/')+1:])
	if status, sound := i.ask(u.Path, http.Header{}); status != 200 || sound != fullAudio {
		i.t.Errorf("the sound: %d %s", status, sound)
	}
	if status, _ := i.ask(u.Path, http.Header{"Range": {"bytes=99999-"}}); status != 416 {
		i.t.Errorf("a range of the sound: %d", status)
	}
	if status, _ := i.ask(u.Path+"x", http.Header{}); status != 404 {
		i.t.Errorf("a false link: %d", status)
	}
}

const reportWindow = "dateFrom=2026-03-01T00:00:00Z&dateTo=2026-04-01T00:00:00Z"

// refuses presents the key where it has no business to be, and wrongly.
func (i *install) refuses() {
	i.t.Helper()
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
		if status, body := i.ask(c.path, c.header); status != c.want {
			i.t.Errorf("%d %s, want %d", status, body, c.want)
		}
	}
}

// fails takes away what the programs stand on, one after the other.
func (i *install) fails() {
	i.t.Helper()
	pool := i.database.Pool(i.t)
	rename := func(statement string) {
		if _, err := pool.Exec(i.t.Context(), statement); err != nil {
			i.t.Fatal(err)
		}
	}
	rename("alter table projection.day_count rename count to counted")
	i.holds(500, "/call-logs")
	rename("alter table projection.day_count rename counted to count")

	i.nats.Stop()
	i.eventually(func() error { return i.answers(429, "/call-log-reports/dimensions") })
	i.holds(200, "/call-logs")
	i.nats.Start()
	i.eventually(func() error { return i.answers(200, "/call-log-reports/dimensions") })

	i.database.Cluster().Kill()
	i.eventually(func() error { return i.answers(503, "/call-logs") })
	i.measures()
	if err := i.database.Cluster().Restart(i.t.Context()); err != nil {
		i.t.Fatal(err)
	}
	i.eventually(func() error { return i.answers(200, "/call-logs") })
}

// measures hears what the admin listeners show.
func (i *install) measures() {
	i.t.Helper()
	for name, address := range i.admins {
		for path, holds := range map[string]string{
			"/metrics": "go_goroutines", "/readyz": "", "/livez": "", "/debug/pprof/goroutine?debug=2": "goroutine",
			"/debug/pprof/heap?debug=1": "heap profile", "/debug/pprof/symbol": "num_symbols",
		} {
			_, body, shown := i.get("http://"+address+path, http.Header{})
			if !strings.Contains(body, holds) {
				i.t.Errorf("%s%s: %s", name, path, body)
			}
			i.hear(name+path, shown)
		}
	}
}

// operates runs the operator's commands, with what they need and with passwords that are wrong.
func (i *install) operates() {
	i.t.Helper()
	commands := [][]string{
		{"keys", "list"}, {"keys", "list", "--json"}, {"keys", "show", i.id}, {"keys", "show", i.id, "--json"}, {"keys", "audit", i.id},
		{"keys", "audit", i.id, "--json"}, {"status"}, {"status", "--json"}, {"stream", "check"},
	}
	const wrong = "wr0ng-p4ssword"
	i.hide("wrong password", wrong)
	database, err := url.Parse(i.database.RoleURL("callboard_operator"))
	if err != nil {
		i.t.Fatal(err)
	}
	database.User = url.UserPassword("callboard_operator", wrong)
	mistaken := i.as("operator", "CALLBOARD_POSTGRES_URL="+database.String(), "CALLBOARD_NATS_URL="+strings.Replace(i.nats.URL(), "://", "://callboard:"+wrong+"@", 1))
	for _, args := range commands {
		i.run(0, i.as("operator"), "callboard", args...)
		i.run(1, mistaken, "callboard", args...)
	}
}

// complains starts the programs with settings that can't be right, each of which holds a secret, and asks for their help.
func (i *install) complains() {
	i.t.Helper()
	const slip = "m1stak3n/s3tting"
	i.hide("mistaken setting", slip)
	bad := []string{
		"CALLBOARD_NATS_URL=http://callboard:" + slip + "@127.0.0.1:4222", "CALLBOARD_POSTGRES_URL=postgres://me:" + slip + "@127.0.0.1:x/y",
		"CALLBOARD_KEY_PEPPER=" + slip, "CALLBOARD_CURSOR_KEY=" + slip, "CALLBOARD_AUDIO_URL=s3://key:" + slip + "@bucket?secret=" + slip,
	}
	for program, args := range map[string][]string{"readapi": nil, "projector": nil, "callboard": {"status"}} {
		i.run(2, i.as("reader", bad...), program, args...)
		i.run(2, i.as("reader"), program, append(args, "--postgres-url", "mysql://me:"+slip+"@host/x")...)
		i.run(2, i.as("reader"), program, append(args, "--no-such-flag="+slip)...)
		i.run(0, i.as("reader"), program, append(args, "--help")...)
	}
	for _, command := range []string{"keys issue", "keys roll", "stream create", "publish", "migrate", "dev"} {
		i.run(0, i.as("operator"), "callboard", append(strings.Fields(command), "--help")...)
	}
	i.run(2, i.as("operator", "CALLBOARD_KEY_PEPPER="+slip), "callboard", "keys", "roll", i.id)
}
