package upgrade_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callboard/cmd/programtest"
)

// release is the three programs of a release.
type release struct {
	tb   testing.TB
	name string
	dir  string // of the programs
}

// previousRelease builds the programs of the previous release from the repository.
func previousRelease(t *testing.T) release {
	t.Helper()
	text, err := os.ReadFile("testdata/previous-release")
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(text))
	if out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("the repository lacks the previous release's commit %s: run the test in a full clone: %s", commit, out)
	}
	source := t.TempDir()
	archive := filepath.Join(source, "source.tar")
	run(t, "../..", "git", "archive", "--output", archive, commit)
	run(t, source, "tar", "-xf", archive)
	return build(t, "previous", source)
}

func build(t *testing.T, name, source string) release {
	t.Helper()
	r := release{t, name, t.TempDir()}
	programtest.Build(t, source, r.dir, false, "./cmd/callboard", "./cmd/projector", "./cmd/readapi")
	return r
}

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// command runs a command of the release's callboard, and returns its output.
func (r release) command(env map[string]string, args ...string) string {
	r.tb.Helper()
	out, errs, code := programtest.Run(r.tb, filepath.Join(r.dir, "callboard"), env, args...)
	if code != 0 {
		r.tb.Fatalf("%s callboard %v: exit code = %d, want 0\n%s%s", r.name, args, code, out, errs)
	}
	return out
}

// decode runs a command with --json.
func (r release) decode(env map[string]string, v any, args ...string) {
	r.tb.Helper()
	out := r.command(env, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		r.tb.Fatalf("%s callboard %v: %v: %s", r.name, args, err, out)
	}
}

// start starts a program of the release.
func (r release) start(program string, env map[string]string, args ...string) *programtest.Process {
	r.tb.Helper()
	p := programtest.NewProcess(r.tb, r.name+"-"+program, filepath.Join(r.dir, program), env)
	p.Start(args...)
	return p
}
