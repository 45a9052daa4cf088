package dev

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"callboard/cmd/setting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string, fresh bool) *home {
	t.Helper()
	h, err := openHome(dir, fresh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h
}

func TestHome_Secrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	first := open(t, dir, false)
	if len(first.peppers()) != 1 || first.pepper == first.cursor {
		t.Errorf("%v", first.peppers())
	}
	first.close()
	second := open(t, dir, false)
	if second.pepper != first.pepper || second.cursor != first.cursor {
		t.Error("the secrets changed")
	}
	second.close()
	if third := open(t, dir, true); third.pepper == first.pepper {
		t.Error("the secrets outlived a fresh start")
	}
	for _, name := range []string{"key-pepper", "cursor-key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestHome_OneAtATime(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, false)
	_, err := openHome(dir, false)
	if err == nil || !strings.Contains(err.Error(), "another 'callboard dev' uses "+dir) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("%v", err)
	}
	first.close()
	open(t, dir, false)
}

// A fresh start in a folder that holds other things, a home by mistake for example, leaves them alone.
func TestHome_FreshRemovesItsOwnAlone(t *testing.T) {
	dir := t.TempDir()
	own, foreign := []string{"nats/x", "audio/y", "env", "log", "sample-live.json"}, []string{"thesis.txt", "sample-data.csv"}
	for _, name := range append(own, foreign...) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, true)
	for _, name := range own {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

// A shell reads back what was written, whatever is in it.
func TestHome_Env(t *testing.T) {
	h := open(t, t.TempDir(), false)
	nasty := `it's "$HOME" ` + "`id` \\ \n end"
	if err := h.writeEnv(setting.Variables{"CALLBOARD_X": nasty, "CALLBOARD_A": "plain"}); err != nil {
		t.Fatal(err)
	}
	path := h.path("env")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "export CALLBOARD_A='plain'\n") {
		t.Errorf("%s, %v", text, err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	got, err := exec.CommandContext(t.Context(), sh, "-c", `. "$0"; sh -c 'printf %s "$CALLBOARD_X"'`, path).Output()
	if err != nil || string(got) != nasty {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHome_LogShowsWarnings(t *testing.T) {
	h := open(t, t.TempDir(), false)
	var shown strings.Builder
	log, err := h.openLog(&shown)
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Msg("quiet")
	log.Warn().Msg("loud")
	text, err := os.ReadFile(h.path("log"))
	if err != nil || !strings.Contains(string(text), "quiet") || !strings.Contains(string(text), "loud") {
		t.Errorf("the log: %s, %v", text, err)
	}
	if strings.Contains(shown.String(), "quiet") || !strings.Contains(shown.String(), "loud") {
		t.Errorf("shown: %s", &shown)
	}
}

// What is cheap to find out is found out before anything is started.
func TestRun_AddressTaken(t *testing.T) {
	h := t.TempDir()
	taken := &instance{Config: Config{Listen: "127.0.0.1:0"}}
	if err := taken.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer taken.closeListeners()
	err := Run(t.Context(), Config{Listen: taken.public.Addr().String(), Data: h, Sample: None, Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "another program does already; --listen :0 picks a free port") {
		t.Errorf("%v", err)
	}
}
