//go:build !operator

package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/readapi/access"
)

func openTestDirectory(t *testing.T, dir string, fresh bool) *devDirectory {
	t.Helper()
	d, err := openDevDirectory(dir, fresh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

func TestDirectory_Secrets(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	first := openTestDirectory(t, dir, false)
	if _, err := access.ParsePepper(first.secrets["key-pepper"]); err != nil || first.secrets["key-pepper"] == first.secrets["cursor-key"] {
		t.Errorf("pepper: error = %v, want one, different from the cursor key", err)
	}
	first.close()
	second := openTestDirectory(t, dir, false)
	if !maps.Equal(second.secrets, first.secrets) {
		t.Error("the second start has other secrets, want the same")
	}
	second.close()
	if third := openTestDirectory(t, dir, true); third.secrets["key-pepper"] == first.secrets["key-pepper"] {
		t.Error("a fresh start has the same pepper, want another")
	}
	for _, name := range []string{"key-pepper", "cursor-key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode = %v, error = %v, want 0600", name, info.Mode(), err)
		}
	}
}

func TestDirectory_SecondInstance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openTestDirectory(t, dir, false)
	_, err := openDevDirectory(dir, false)
	if err == nil || !strings.Contains(err.Error(), "another 'callboard dev' uses "+dir) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("error = %v, want one that names the other instance, the folder and --data", err)
	}
	first.close()
	openTestDirectory(t, dir, false)
}

// A fresh start in a directory with other files, for example a home directory given by mistake, keeps them.
func TestDirectory_FreshKeepsOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, others := []string{"nats/x", "audio/y", "env", "log", "nats.log", "sample-live"}, []string{"thesis.txt", "sample-data.csv"}
	for _, name := range append(ours, others...) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openTestDirectory(t, dir, true)
	for _, name := range ours {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s exists after a fresh start, error = %v", name, err)
		}
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s was deleted: %v", name, err)
		}
	}
}

// A shell reads the same values from the env file, whatever characters they contain.
func TestDirectory_Env(t *testing.T) {
	t.Parallel()
	d := openTestDirectory(t, t.TempDir(), false)
	special := `it's "$HOME" ` + "`id` \\ \n end"
	if err := d.writeEnv(map[string]string{"CALLBOARD_X": special, "CALLBOARD_A": "plain"}); err != nil {
		t.Fatal(err)
	}
	path := d.path("env")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, error = %v, want 0600", info.Mode(), err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "export CALLBOARD_A='plain'\n") {
		t.Errorf("env file = %s, error = %v, want it sorted", text, err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	got, err := exec.CommandContext(t.Context(), sh, "-c", `. "$0"; sh -c 'printf %s "$CALLBOARD_X"'`, path).Output()
	if err != nil || string(got) != special {
		t.Errorf("value in the shell = %q, error = %v, want %q", got, err, special)
	}
}

func TestDirectory_LogPrintsWarnings(t *testing.T) {
	t.Parallel()
	d := openTestDirectory(t, t.TempDir(), false)
	var shown strings.Builder
	logs, err := d.openLog(&shown)
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(logs)
	log.Info().Msg("info line")
	log.Warn().Msg("warning line")
	text, err := os.ReadFile(d.path("log"))
	if err != nil || !strings.Contains(string(text), "info line") || !strings.Contains(string(text), "warning line") {
		t.Errorf("log = %s, error = %v, want both lines", text, err)
	}
	if strings.Contains(shown.String(), "info line") || !strings.Contains(shown.String(), "warning line") {
		t.Errorf("printed = %s, want only the warning", &shown)
	}
}

// An address in use is reported before anything is started.
func TestRun_AddressInUse(t *testing.T) {
	t.Parallel()
	h := t.TempDir()
	first := eventstest.Listen(t)
	defer first.Close()
	err := runDev(t.Context(), devConfig{Listen: first.Addr().String(), Data: h, Sample: noSample, Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "address already in use: use --listen :0 to select a free port") {
		t.Errorf("error = %v, want one that says how to select a free port", err)
	}
}
