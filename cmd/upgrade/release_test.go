package upgrade_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callboard/events/eventstest"
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
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", r.dir + string(filepath.Separator)} // they link faster without debug information
	run(t, source, "go", append(args, "./cmd/callboard", "./cmd/projector", "./cmd/readapi")...)
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

func environment(env map[string]string) []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// command runs a command of the release's callboard, and returns its output.
func (r release) command(env map[string]string, args ...string) string {
	r.tb.Helper()
	cmd := exec.CommandContext(r.tb.Context(), filepath.Join(r.dir, "callboard"), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(env), &out, &errs
	if err := cmd.Run(); err != nil {
		r.tb.Fatalf("%s callboard %v: %v\n%s%s", r.name, args, err, &out, &errs)
	}
	return out.String()
}

// decode runs a command with --json.
func (r release) decode(env map[string]string, v any, args ...string) {
	r.tb.Helper()
	out := r.command(env, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		r.tb.Fatalf("%s callboard %v: %v: %s", r.name, args, err, out)
	}
}

// process is a running program.
type process struct {
	tb   testing.TB
	name string
	cmd  *exec.Cmd
	log  *eventstest.LogBuffer
	done chan struct{}
}

// start starts a program of the release, which is killed when the test ends.
func (r release) start(program string, env map[string]string, args ...string) *process {
	r.tb.Helper()
	p := &process{tb: r.tb, name: r.name + " " + program, log: &eventstest.LogBuffer{}, done: make(chan struct{})}
	// The cleanup kills it, later than the end of the test's context.
	p.cmd = exec.CommandContext(context.WithoutCancel(r.tb.Context()), filepath.Join(r.dir, program), args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environment(env), p.log, p.log
	if err := p.cmd.Start(); err != nil {
		r.tb.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the process state tells how it ended
	}()
	r.tb.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.done
		if r.tb.Failed() {
			text := p.log.String()
			r.tb.Logf("last output of %s:\n%s", p.name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// logged waits until the log matches a pattern, and returns its first group.
func (p *process) logged(pattern string) string {
	p.tb.Helper()
	var found []string
	eventstest.Eventually(p.tb, p.name+" logs "+pattern, func() bool {
		p.checkRunning()
		found = regexp.MustCompile(pattern).FindStringSubmatch(p.log.String())
		return found != nil
	})
	return found[1]
}

func (p *process) checkRunning() {
	p.tb.Helper()
	select {
	case <-p.done:
		p.tb.Fatalf("%s has ended: %s\n%s", p.name, p.cmd.ProcessState, p.log)
	default:
	}
}

// stop ends the program as an operator does. Its exit code must be 0.
func (p *process) stop() {
	p.tb.Helper()
	p.checkRunning()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.tb.Fatal(err)
	}
	<-p.done
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.tb.Errorf("%s: exit code = %d, want 0", p.name, code)
	}
}
