package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	system    = "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10"
	extension = "3c1b7a40-6f7e-4d0e-9c55-8f5a2f6b9d11"
	ownCall   = "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f"
	otherCall = "1f8e4c2d-3b5a-4c6d-9e7f-0a1b2c3d4e5f"
)

// lines are a phone system, an extension and two calls, one of which the extension answered.
func lines() string {
	call := func(id, answeredBy string) string {
		return `{"type":"callboard.call.changed","data":{"id":"` + id + `","phoneSystemId":"` + system + `","version":1,` +
			`"callSid":"CA` + strings.ReplaceAll(id, "-", "") + `","direction":"inbound","status":"completed","from":"+14155550123",` +
			`"to":"+14155550100","createdAt":"2026-03-02T09:30:00Z","duration":190,"isEmergency":false,"isConverted":false,` +
			`"isEdited":false,"answeredByExtensionId":` + answeredBy + `,"tags":[]}}`
	}
	return strings.Join([]string{
		`{"type":"callboard.phone-system.changed","data":{"id":"` + system + `","version":1,"name":"Harbour Dental","organizationId":null}}`,
		`{"type":"callboard.extension.changed","data":{"id":"` + extension + `","phoneSystemId":"` + system + `","version":1,` +
			`"number":"101","name":"Ann","status":"active","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z","assignedPhoneIds":[]}}`,
		call(ownCall, `"`+extension+`"`),
		call(otherCall, "null"),
	}, "\n")
}

// TestDev follows a platform team and an operator through an empty instance.
func TestDev(t *testing.T) {
	i := startDev(t, t.TempDir(), "--sample", "none")
	if i.APIKey != nil {
		t.Error("a key without a sample")
	}
	if out := succeed(t, i.Env, lines(), "publish", "-", "--json"); out != "{\"published\":4}\n" {
		t.Errorf("published: %s", out)
	}
	whole := issue(t, i, "--name", "whole", "--system", system, "--scopes", "calls:read,phones:read")
	own := issue(t, i, "--name", "own", "--system", system, "--scopes", "calls:read", "--own-extension", extension)
	eventually(t, func() error { return i.sees(whole.Key, 2) })
	t.Run("a narrowed key sees its own call", func(t *testing.T) {
		if out := succeed(t, i.Env, "", "keys", "show", own.ID); !strings.Contains(out, "extension "+extension) || strings.Contains(out, own.Key) {
			t.Errorf("%s", out)
		}
		if err := i.sees(own.Key, 1); err != nil {
			t.Error(err)
		}
		if status, _ := get(t, i.calls()+"/"+otherCall, own.Key); status != http.StatusNotFound {
			t.Errorf("another's call answers %d", status)
		}
	})
	t.Run("status", func(t *testing.T) { checkStatus(t, i) })
	t.Run("stream", func(t *testing.T) { checkStream(t, i) })
	t.Run("migrate", func(t *testing.T) { checkMigrate(t, i) })
	t.Run("lines that are no events", func(t *testing.T) { checkBadLines(t, i) })
	t.Run("the API as a process of its own", func(t *testing.T) { checkReader(t, i, whole.Key) })
	t.Run("a second projector stands by", func(t *testing.T) { checkStandby(t, i) })
	t.Run("a second instance is refused", func(t *testing.T) {
		r := command(t, nil, "", "dev", "--data", i.dir, "--listen", ":0", "--nats-listen", "127.0.0.1:0")
		if r.code != 1 || !strings.Contains(r.err, "another 'callboard dev' runs on") {
			t.Errorf("exit %d: %s", r.code, r.err)
		}
	})
	t.Run("revoked, a key is refused at the next request", func(t *testing.T) {
		succeed(t, i.Env, "", "keys", "revoke", whole.ID)
		if status, _ := get(t, i.calls(), whole.Key); status != http.StatusUnauthorized {
			t.Errorf("it answers %d", status)
		}
		if out := succeed(t, i.Env, "", "keys", "list"); strings.Count(out, "revoked") != 1 || strings.Count(out, "active") != 1 {
			t.Errorf("%s", out)
		}
	})
	t.Run("Ctrl-C stops everything", func(t *testing.T) { checkStop(t, i, whole.Key) })
}

func (i *instance) calls() string {
	return i.BaseURL + "/customer/phone-systems/" + system + "/call-logs"
}

// sees fails unless the key's list has so many calls.
func (i *instance) sees(key string, want int) error {
	status, body := get(i, i.calls(), key)
	var answer struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if status != http.StatusOK || len(answer.Data) != want {
		return fmt.Errorf("%d with %d calls: %s", status, len(answer.Data), body)
	}
	return nil
}

type issuedKey struct{ ID, Key string }

func issue(t *testing.T, i *instance, args ...string) issuedKey {
	t.Helper()
	var k issuedKey
	out := succeed(t, i.Env, "", append([]string{"keys", "issue", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &k); err != nil || k.ID == "" || !strings.HasPrefix(k.Key, "sk_phones_") {
		t.Fatalf("%s: %v", out, err)
	}
	return k
}

func checkStatus(t *testing.T, i *instance) {
	t.Helper()
	var report struct {
		Generation  int
		DeadLetters int
		Partitions  []struct {
			LagEvents int
			Owner     string
		}
	}
	if err := json.Unmarshal([]byte(succeed(t, i.Env, "", "status", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Partitions) != 16 || report.Generation != 1 || report.DeadLetters != 0 {
		t.Errorf("%+v", report)
	}
	for _, p := range report.Partitions {
		if p.LagEvents != 0 || !strings.HasPrefix(p.Owner, "projector@") {
			t.Errorf("%+v", p)
		}
	}
	watch := start(t, "callboard", i.Env, "status", "--watch", "--json")
	eventually(t, func() error {
		if reports := strings.Split(watch.out.String(), "\n"); len(reports) < 3 || strings.Contains(reports[1], `"rate":null`) {
			return errors.New("no second report with a rate")
		}
		return nil
	})
	if code := watch.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d", code)
	}
	out := succeed(t, i.Env, "", "status")
	if !strings.Contains(out, "PARTITION") || !strings.Contains(out, "4 events, 0 not applied") {
		t.Errorf("%s", out)
	}
}

func checkStream(t *testing.T, i *instance) {
	t.Helper()
	if out := succeed(t, i.Env, "", "stream", "check"); out != "Stream PHONES is safe.\n" {
		t.Errorf("%s", out)
	}
	const rest = "\nStream AUDIT: was there.\nStream LIMITS_120_120: was there.\nStream LIMITS_600_120: was there.\n"
	if out := succeed(t, i.Env, "", "stream", "create"); !strings.HasSuffix(out, rest) {
		t.Errorf("%s", out)
	}
	out := succeed(t, i.Env, "", "stream", "create", "--premium-per-minute", "1000", "--json")
	if !strings.Contains(out, `"limitsCreated":{"LIMITS_1000_120":true,"LIMITS_120_120":false}`) {
		t.Errorf("%s", out)
	}
	if r := command(t, i.Env, "", "stream", "create", "--partitions", "8"); r.code != 1 || !strings.Contains(r.err, "--partitions 16") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func checkMigrate(t *testing.T, i *instance) {
	t.Helper()
	succeed(t, i.Env, "", "migrate")
	var both errgroup.Group
	for range 2 {
		both.Go(func() error {
			if r := command(t, i.Env, "", "migrate", "--json"); r.code != 0 {
				return errors.New(r.err)
			}
			return nil
		})
	}
	if err := both.Wait(); err != nil {
		t.Error(err)
	}
}

// checkBadLines also checks that a bad line takes nothing after it along.
func checkBadLines(t *testing.T, i *instance) {
	t.Helper()
	first := strings.SplitN(lines(), "\n", 2)[0]
	r := command(t, i.Env, first+"\n\n"+`{"type":"callboard.call.changed","data":{"id":"x"}}`+"\n"+first, "publish", "-")
	for _, want := range []string{"line 3: /data/id: must be a UUID", "/data/phoneSystemId: is required", "Events published before: 1"} {
		if r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("exit %d, want %q: %s", r.code, want, r.err)
		}
	}
}

func checkReader(t *testing.T, i *instance, key string) {
	t.Helper()
	d := start(t, "readapi", i.Env, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	base, err := url.Parse(i.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	base.Host = d.logged(`"public":"([^"]+)"`)
	admin := "http://" + d.logged(`"admin":"([^"]+)"`)
	healthy(t, admin)
	status, body := get(t, base.String()+"/customer/phone-systems/"+system+"/call-logs/"+ownCall, key)
	if status != http.StatusOK || !strings.Contains(string(body), ownCall) {
		t.Errorf("%d: %s", status, body)
	}
	if code := d.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
	if said := d.err.String(); strings.Contains(said, key) || strings.Contains(said, i.Env["CALLBOARD_KEY_PEPPER"]) {
		t.Errorf("it shows a secret: %s", said)
	}
}

func checkStandby(t *testing.T, i *instance) {
	t.Helper()
	d := start(t, "projector", i.Env, "--partitions", "0-3", "--admin-listen", "127.0.0.1:0")
	admin := "http://" + d.logged(`"admin":"([^"]+)"`)
	healthy(t, admin)
	if code := d.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// healthy waits until a program can serve.
func healthy(t *testing.T, admin string) {
	t.Helper()
	eventually(t, func() error {
		if r := command(t, nil, "", "healthcheck", admin+"/readyz"); r.code != 0 {
			return errors.New(r.err)
		}
		return nil
	})
}

// logged waits for something in the program's log.
func (d *daemon) logged(pattern string) string {
	d.Helper()
	var found []string
	eventually(d, func() error {
		if found = regexp.MustCompile(pattern).FindStringSubmatch(d.err.String()); found == nil {
			return fmt.Errorf("no %s in its log", pattern)
		}
		return nil
	})
	return found[1]
}

func checkStop(t *testing.T, i *instance, key string) {
	t.Helper()
	pid := i.postgres()
	if code := i.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d: %s", code, i.err)
	}
	if err := gone(pid); err != nil {
		t.Error(err)
	}
	for _, address := range []string{i.NATSURL, i.PostgresURL, i.BaseURL, i.ReadAPIAdminURL, i.ProjectorAdminURL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host); err == nil {
			_ = conn.Close()
			t.Errorf("%s still answers", u.Host)
		}
	}
	log, err := os.ReadFile(filepath.Join(i.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{key, i.Env["CALLBOARD_KEY_PEPPER"], i.Env["CALLBOARD_CURSOR_KEY"]} {
		if strings.Contains(string(log)+i.err.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

// get asks with a key, and with further headers: names and values in turn.
func get(tb testing.TB, address, key string, headers ...string) (int, []byte) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, nil)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("X-API-Key", key)
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, body
}

// TestDev_SecondSignal holds a connection open, for which the reader would wait some seconds.
func TestDev_SecondSignal(t *testing.T) {
	i := startDev(t, t.TempDir(), "--sample", "none")
	base, err := url.Parse(i.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", base.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pid := i.postgres()
	if err := i.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if !strings.Contains(i.err.String(), "stopping") {
			return errors.New("the first signal is not heard")
		}
		return nil
	})
	eventually(t, func() error {
		_ = i.cmd.Process.Signal(os.Interrupt) // one that comes right behind the first is swallowed
		select {
		case <-i.ended:
			return nil
		case <-time.After(100 * time.Millisecond):
			return errors.New("it does not stop")
		}
	})
	if code := i.cmd.ProcessState.ExitCode(); code != -1 {
		t.Errorf("exit %d, want the signal's", code)
	}
	eventually(t, func() error { return gone(pid) })
}
