package main_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestDev_Sample does what dev tells people to do, twice over.
func TestDev_Sample(t *testing.T) {
	dir := t.TempDir()
	first := startDev(t, dir, "--sample", "small")
	runExamples(t, first)
	clips, err := filepath.Glob(filepath.Join(dir, "audio", "clips", "*.wav"))
	if err != nil || len(clips) == 0 {
		t.Errorf("clips: %v, %v", clips, err)
	}
	if code := first.stop(os.Interrupt); code != 0 {
		t.Errorf("exit %d: %s", code, first.err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "audio")); err != nil {
		t.Fatal(err)
	}
	second := startDev(t, dir, "--sample", "small")
	runExamples(t, second)
	if status, _ := get(t, second.BaseURL+"/customer/phone-systems", *first.APIKey); status != http.StatusUnauthorized {
		t.Errorf("the last start's key answers %d", status)
	}
	if out := succeed(t, second.Env, "", "simulate", "--systems", "1", "--calls", "20", "--seed", "77", "--json"); !strings.Contains(out, `"calls":20`) {
		t.Errorf("%s", out)
	}
	eventually(t, func() error {
		if out := succeed(t, second.Env, "", "status"); !strings.Contains(out, " 0 not applied") {
			return errors.New(out)
		}
		return nil
	})
	if out := succeed(t, second.Env, "", "status"); !strings.Contains(out, " 0 not applied; dead letters: 0; generation: 1") {
		t.Errorf("%s", out)
	}
}

// runExamples runs the lines that dev printed.
func runExamples(t *testing.T, i *instance) {
	t.Helper()
	examples := regexp.MustCompile(`(?m)^\s+(curl -H 'X-API-Key: (\S+)' '(\S+)')$`).FindAllStringSubmatch(i.out.String(), -1)
	if len(examples) != 3 || i.APIKey == nil {
		t.Fatalf("%d examples in\n%s", len(examples), i.out)
	}
	for _, example := range examples {
		line, key, address := example[1], example[2], example[3]
		status, body := get(t, address, key)
		if status != http.StatusOK || key != *i.APIKey || len(body) < 100 {
			t.Errorf("%s: %d %s", line, status, body)
		}
		if _, err := exec.LookPath("curl"); err != nil {
			continue
		}
		said, err := exec.CommandContext(t.Context(), "sh", "-c", line+" -s -f").Output()
		if err != nil || !json.Valid(said) {
			t.Errorf("%s: %s, %v", line, said, err)
		}
	}
	play(t, i, examples[2][3])
}

// play asks for a link to audio and follows it, without a key.
func play(t *testing.T, i *instance, address string) {
	t.Helper()
	_, body := get(t, address, *i.APIKey)
	var link struct{ URL string }
	if err := json.Unmarshal(body, &link); err != nil {
		t.Fatalf("%s: %s", address, body)
	}
	status, wav := get(t, link.URL, "")
	if status != http.StatusOK || len(wav) < 44 || string(wav[:4])+string(wav[8:16]) != "RIFFWAVEfmt " ||
		int(binary.LittleEndian.Uint32(wav[4:]))+8 != len(wav) {
		t.Errorf("%d, %d bytes, %.16q", status, len(wav), wav)
	}
	status, part := get(t, link.URL, "", "Range", "bytes=8-11")
	if status != http.StatusPartialContent || string(part) != "WAVE" {
		t.Errorf("a range: %d %s", status, part)
	}
	log, err := os.ReadFile(filepath.Join(i.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if token := link.URL[strings.LastIndexByte(link.URL, '/')+1:]; strings.Contains(string(log), token) {
		t.Error("the link is in the log")
	}
}

// TestDev_Killed kills an instance: nothing of it stays behind, and it comes back with what it had.
func TestDev_Killed(t *testing.T) {
	dir := t.TempDir()
	i := startDev(t, dir, "--sample", "none")
	succeed(t, i.Env, lines(), "publish", "-")
	key := issue(t, i, "--name", "x", "--system", system, "--scopes", "calls:read")
	eventually(t, func() error { return i.sees(key.Key, 2) })
	pid := i.postgres()
	i.stop(syscall.SIGKILL)
	eventually(t, func() error { return gone(pid) })
	again := startDev(t, dir, "--sample", "none")
	if err := again.sees(key.Key, 2); err != nil {
		t.Error(err)
	}
	if code := again.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d: %s", code, again.err)
	}
}
