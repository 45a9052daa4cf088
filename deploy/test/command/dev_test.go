package command_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"callboard/events/eventstest"
)

const (
	systemID    = "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10"
	extensionID = "3c1b7a40-6f7e-4d0e-9c55-8f5a2f6b9d11"
	ownCallID   = "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f" // the extension answered it
	otherCallID = "1f8e4c2d-3b5a-4c6d-9e7f-0a1b2c3d4e5f"
)

// fixtureLines are the events of a phone system, an extension and two calls.
func fixtureLines() string {
	call := func(id, answeredBy string) string {
		return `{"type":"callboard.call.changed","data":{"id":"` + id + `","phoneSystemId":"` + systemID + `","version":1,` +
			`"callSid":"CA` + strings.ReplaceAll(id, "-", "") + `","direction":"inbound","status":"completed","from":"+14155550123",` +
			`"to":"+14155550100","createdAt":"2026-03-02T09:30:00Z","duration":190,"isEmergency":false,"isConverted":false,` +
			`"isEdited":false,"answeredByExtensionId":` + answeredBy + `,"tags":[]}}`
	}
	return strings.Join([]string{
		`{"type":"callboard.phone-system.changed","data":{"id":"` + systemID + `","version":1,"name":"Harbour Dental","organizationId":null}}`,
		`{"type":"callboard.extension.changed","data":{"id":"` + extensionID + `","phoneSystemId":"` + systemID + `","version":1,` +
			`"number":"101","name":"Ann","status":"active","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z","assignedPhoneIds":[]}}`,
		call(ownCallID, `"`+extensionID+`"`),
		call(otherCallID, "null"),
	}, "\n")
}

func (i *devProcess) callsURL() string {
	return i.BaseURL + "/customer/phone-systems/" + systemID + "/call-logs"
}

// calls returns the number of calls in the key's list, -1 if the status is not 200.
func (i *devProcess) calls(key string) int {
	i.Helper()
	status, body := get(i, i.callsURL(), key)
	var response struct{ Data []json.RawMessage }
	if err := json.Unmarshal(body, &response); err != nil || status != http.StatusOK {
		return -1
	}
	return len(response.Data)
}

// postgresPID returns the process id of the instance's PostgreSQL server.
func (i *devProcess) postgresPID() (pid int) {
	i.Helper()
	text, err := os.ReadFile(filepath.Join(i.dir, "postgres", "data", "postmaster.pid"))
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	if err != nil {
		i.Fatal(err)
	}
	return pid
}

// processEnded reports whether a process has ended. One that no parent has waited for still has its number, but no
// command line.
func processEnded(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(line) == 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

func checkStop(t *testing.T, i *devProcess, key string) {
	t.Helper()
	pid := i.postgresPID()
	i.StopCleanly(os.Interrupt)
	if !processEnded(pid) {
		t.Errorf("PostgreSQL, process %d, still runs", pid)
	}
	log, err := os.ReadFile(filepath.Join(i.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{key, i.Env["CALLBOARD_KEY_PEPPER"], i.Env["CALLBOARD_CURSOR_KEY"]} {
		if strings.Contains(string(log)+i.Err.String(), secret) {
			t.Error("the log contains a secret")
		}
	}
}

// A killed instance leaves no process behind, and the next start has its data.
func TestDev_Killed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	i := startDev(t, dir, "--sample", "none")
	succeed(t, i.Env, fixtureLines(), "publish", "-")
	key := issueKey(t, i.Env, systemID, "--name", "x", "--scopes", "calls:read")
	eventstest.Eventually(t, "the key sees both calls", func() bool { return i.calls(key.Key) == 2 })
	pid := i.postgresPID()
	i.Stop(syscall.SIGKILL)
	eventstest.Eventually(t, "PostgreSQL ends", func() bool { return processEnded(pid) })
	again := startDev(t, dir, "--sample", "none")
	if n := again.calls(key.Key); n != 2 {
		t.Errorf("calls after the restart = %d, want 2", n)
	}
	again.StopCleanly(syscall.SIGTERM)
}

// The printed examples work, also after a restart, which replaces the key and restores deleted audio.
func TestDev_Sample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startDev(t, dir, "--sample", "small")
	checkExamples(t, first)
	clips, err := filepath.Glob(filepath.Join(dir, "audio", "clips", "*.wav"))
	if err != nil || len(clips) == 0 {
		t.Errorf("audio files = %v, error = %v, want some", clips, err)
	}
	first.StopCleanly(os.Interrupt)
	if err := os.RemoveAll(filepath.Join(dir, "audio")); err != nil {
		t.Fatal(err)
	}
	second := startDev(t, dir, "--sample", "small")
	checkExamples(t, second)
	expectStatus(t, second.BaseURL+"/customer/phone-systems", *first.APIKey, http.StatusUnauthorized)
	out := succeed(t, second.Env, "", "simulate", "--systems", "1", "--calls", "20", "--seed", "77", "--json")
	if !strings.Contains(out, `"calls":20`) {
		t.Errorf("simulate: output = %s, want 20 calls", out)
	}
	waitUntilCaughtUp(t, second.Env)
	expect(t, second.Env, 0, ` 0 not applied; open dead letters: 0; live generation: 1\n$`, "status")
	watch := start(t, "callboard", second.Env, "status", "--watch", "--json")
	watch.Await(`\n.*"rate":\d`) // which the second report has
	watch.StopCleanly(os.Interrupt)
	checkStop(t, second, *second.APIKey)
}

func checkExamples(t *testing.T, i *devProcess) {
	t.Helper()
	// dev prints after it has written the ready file.
	eventstest.Eventually(t, "dev prints its last line", func() bool { return i.Out.Contains("Ctrl-C") })
	examples := regexp.MustCompile(`(?m)^\s+(curl -H 'X-API-Key: (\S+)' '(\S+)')$`).FindAllStringSubmatch(i.Out.String(), -1)
	if len(examples) != 3 || i.APIKey == nil {
		t.Fatalf("examples = %d, want 3, and a key", len(examples))
	}
	for _, example := range examples {
		line, key, address := example[1], example[2], example[3]
		status, body := get(t, address, key)
		if status != http.StatusOK || key != *i.APIKey || len(body) < 100 {
			t.Errorf("%s: status = %d, body = %s, want 200 and data", line, status, body)
		}
		if _, err := exec.LookPath("curl"); err != nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", line+" -s -f").Output()
		if err != nil || !json.Valid(out) {
			t.Errorf("%s: output = %s, error = %v, want JSON", line, out, err)
		}
	}
	checkAudio(t, i, examples[2][3])
}

// checkAudio requests a link to audio and follows it without a key.
func checkAudio(t *testing.T, i *devProcess, address string) {
	t.Helper()
	_, body := get(t, address, *i.APIKey)
	var link struct{ URL string }
	if err := json.Unmarshal(body, &link); err != nil {
		t.Fatalf("%s: %s", address, body)
	}
	status, wav := get(t, link.URL, "")
	if status != http.StatusOK || len(wav) < 44 || string(wav[:4])+string(wav[8:16]) != "RIFFWAVEfmt " ||
		int(binary.LittleEndian.Uint32(wav[4:]))+8 != len(wav) {
		t.Errorf("audio: status = %d, %d bytes, begins with %.16q, want 200 and a WAV file", status, len(wav), wav)
	}
	status, part := get(t, link.URL, "", "Range", "bytes=8-11")
	if status != http.StatusPartialContent || string(part) != "WAVE" {
		t.Errorf("range of audio: status = %d, body = %s, want 206 and WAVE", status, part)
	}
	log, err := os.ReadFile(filepath.Join(i.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if token := link.URL[strings.LastIndexByte(link.URL, '/')+1:]; strings.Contains(string(log), token) {
		t.Error("the log contains the link")
	}
}
