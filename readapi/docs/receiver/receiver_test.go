package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/webhook"
)

// vectors is the file of test vectors: requests, and why each is refused.
type vectors struct {
	Vectors []struct {
		Name    string            `json:"name"`
		Secrets []string          `json:"secrets"`
		Now     int64             `json:"now"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
		Refused string            `json:"refused"`
	} `json:"vectors"`
}

func readVectors(t *testing.T) (text []byte, list vectors) {
	t.Helper()
	text, err := fs.ReadFile(events.Documents(), "webhooks.vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text, list
}

func TestVerify(t *testing.T) {
	t.Parallel()
	_, list := readVectors(t)
	got := make(map[string]string)
	for _, v := range list.Vectors {
		header := http.Header{}
		for name, value := range v.Headers {
			header.Set(name, value)
		}
		got[v.Name] = ""
		if err := verify(v.Secrets, header, []byte(v.Body), time.Unix(v.Now, 0)); err != nil {
			got[v.Name] = err.Error()
		}
	}
	expectReasons(t, list, got)
}

func expectReasons(t *testing.T, list vectors, got map[string]string) {
	t.Helper()
	for _, v := range list.Vectors {
		if reason, ok := got[v.Name]; !ok || reason != v.Refused {
			t.Errorf("%s: reason = %q, want %q", v.Name, reason, v.Refused)
		}
	}
}

// program returns a program that is installed. Otherwise it skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: its receiver is not tested", name)
	}
	return path
}

func TestVerify_OtherLanguages(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	for name, script := range map[string]string{"python3": "testdata/vectors.py", "node": "testdata/vectors.mjs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, list := readVectors(t)
			command := exec.CommandContext(t.Context(), program(t, name), script)
			command.Stdin, command.Stderr = bytes.NewReader(text), os.Stderr
			out, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]string
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("output = %s, want JSON: %v", out, err)
			}
			expectReasons(t, list, got)
		})
	}
}

// Each receiver stores an event once, with its bytes, and refuses what is not signed. Without a secret, it does not
// start.
func TestReceivers(t *testing.T) {
	eventstest.Long(t)
	t.Parallel()
	for name, receiver := range map[string]func(*testing.T) []string{
		"Go":         func(t *testing.T) []string { t.Helper(); return []string{built(t)} },
		"Python":     func(t *testing.T) []string { t.Helper(); return []string{program(t, "python3"), "receiver.py"} },
		"JavaScript": func(t *testing.T) []string { t.Helper(); return []string{program(t, "node"), "receiver.mjs"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := receiver(t)
			expectRefusalToStart(t, command)
			r := start(t, command)
			body := webhook.Event{Type: webhook.CallEnded, Timestamp: time.Now(), Data: webhook.Data{CallSid: "CA1"}}.Body()
			for range 3 {
				r.expect(r.sign("evt_a", body, r.old), body, http.StatusNoContent)
			}
			r.expect(r.sign("evt_b", body, webhook.NewSecret(), r.current), body, http.StatusNoContent)
			r.expect(r.sign("evt_c", body, webhook.NewSecret()), body, http.StatusUnauthorized)
			r.expect(r.sign("evt_d", body, r.current), append(body, ' '), http.StatusUnauthorized)
			r.expect(webhook.Sign([]webhook.Secret{r.current}, "evt_e", time.Now().Add(-6*time.Minute), body), body, http.StatusUnauthorized)
			r.expect(http.Header{}, body, http.StatusUnauthorized)
			r.expectStored(map[string][]byte{"evt_a.json": body, "evt_b.json": body})

			if err := os.RemoveAll(r.inbox); err != nil {
				t.Fatal(err)
			}
			if status, err := r.post(r.sign("evt_f", body, r.current), body); err == nil && status < 500 {
				t.Errorf("status without a folder = %d, want a failure, so that the event is sent again", status)
			}
		})
	}
}

// expectRefusalToStart runs a receiver without a secret, with an empty one, and with a list that ends in a comma.
func expectRefusalToStart(t *testing.T, command []string) {
	t.Helper()
	for _, variables := range [][]string{nil, {"WEBHOOK_SECRET="}, {"WEBHOOK_SECRET=" + webhook.NewSecret().Reveal() + ","}} {
		process := exec.CommandContext(t.Context(), command[0], command[1:]...)
		process.Env = append(os.Environ(), append(variables, "PORT=0", "INBOX="+t.TempDir())...)
		var exit *exec.ExitError
		if _, err := process.Output(); !errors.As(err, &exit) || !strings.Contains(string(exit.Stderr), "WEBHOOK_SECRET is missing, or has an invalid secret") {
			t.Errorf("%d variables with a secret: error = %v, want that it is missing or invalid", len(variables), err)
		}
	}
}

func built(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "receiver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// running is a receiver that runs as a process and knows two secrets.
type running struct {
	*testing.T
	url          string
	inbox        string
	old, current webhook.Secret
}

func start(t *testing.T, command []string) running {
	t.Helper()
	r := running{T: t, inbox: t.TempDir(), old: webhook.NewSecret(), current: webhook.NewSecret()}
	process := exec.CommandContext(t.Context(), command[0], command[1:]...)
	process.Env = append(os.Environ(), "PORT=0", "INBOX="+r.inbox, "WEBHOOK_SECRET="+r.current.Reveal()+","+r.old.Reveal())
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Wait() }) // killed with the test's context
	line, err := bufio.NewReader(out).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !found {
		t.Fatalf("first line = %q, %v, want the address", line, err)
	}
	r.url = "http://" + address + "/"
	return r
}

func (r running) sign(id string, body []byte, secrets ...webhook.Secret) http.Header {
	return webhook.Sign(secrets, id, time.Now(), body)
}

func (r running) post(header http.Header, body []byte) (status int, err error) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (r running) expect(header http.Header, body []byte, want int) {
	r.Helper()
	if status, err := r.post(header, body); err != nil || status != want {
		r.Errorf("%s: status = %d, %v, want %d", header.Get(webhook.HeaderID), status, err, want)
	}
}

// expectStored checks the files in the inbox.
func (r running) expectStored(want map[string][]byte) {
	r.Helper()
	entries, err := os.ReadDir(r.inbox)
	if err != nil {
		r.Fatal(err)
	}
	if len(entries) != len(want) {
		r.Errorf("files = %v, want %d", entries, len(want))
	}
	for name, body := range want {
		if got, err := os.ReadFile(filepath.Join(r.inbox, name)); err != nil || !bytes.Equal(got, body) { //nolint:gosec // the test's own folder
			r.Errorf("%s = %s, %v, want %s", name, got, err, body)
		}
	}
}
