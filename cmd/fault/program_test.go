package fault_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// build builds programs into a folder of the test's own.
func build(tb testing.TB, race bool, packages ...string) (folder string) {
	tb.Helper()
	folder = tb.TempDir()
	args := []string{"build", "-o", folder + string(filepath.Separator)}
	if race {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(tb.Context(), "go", append(args, packages...)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return folder
}

// program is one that runs as a process of its own, through all its lives. Its methods are for the test's own goroutine.
type program struct {
	tb    testing.TB
	name  string // in what the test says, and in its log's name
	path  string
	args  []string
	env   map[string]string
	logs  string // the folder of what it says
	kills int

	cmd   *exec.Cmd
	ended chan struct{} // closed when the present life is over
}

// start begins a life. It does not outlive the test.
func (p *program) start() {
	p.tb.Helper()
	_ = os.Rename(p.log(), p.log()+".before") // the first life has none
	log, err := os.Create(p.log())
	if err != nil {
		p.tb.Fatal(err)
	}
	defer log.Close() // the process has its own handle
	// Its end is the cleanup's, which comes after the end of the test's own context.
	p.cmd = exec.CommandContext(context.WithoutCancel(p.tb.Context()), p.path, p.args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.environment(), log, log
	if err := p.cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its state
	}()
}

func (p *program) environment() []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range p.env {
		list = append(list, name+"="+value)
	}
	return list
}

func (p *program) log() string { return filepath.Join(p.logs, p.name+".log") }

// said waits for the log to match, and returns the first group.
func (p *program) said(pattern string) (text string) {
	p.tb.Helper()
	compiled := regexp.MustCompile(pattern)
	await(p.tb, p.name+" says "+pattern, func() bool {
		log, err := os.ReadFile(p.log())
		if err != nil {
			p.tb.Fatal(err)
		}
		p.mustRun()
		if match := compiled.FindSubmatch(log); match != nil {
			text = string(match[1])
		}
		return text != ""
	})
	return text
}

// mustRun fails the test if the program has ended, since nobody told it to.
func (p *program) mustRun() {
	p.tb.Helper()
	select {
	case <-p.ended:
		p.tb.Fatalf("%s has ended by itself: %s", p.name, p.cmd.ProcessState)
	default:
	}
}

func (p *program) pid() int { return p.cmd.Process.Pid }

// kill ends the present life without warning.
func (p *program) kill() {
	p.tb.Helper()
	p.mustRun()
	p.signal(syscall.SIGKILL)
	<-p.ended
	p.kills++
}

func (p *program) signal(signal os.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.tb.Fatalf("%s: %v", p.name, err)
	}
}

// stop ends the present life as an operator would.
func (p *program) stop() {
	p.tb.Helper()
	p.mustRun()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.tb.Fatalf("%s does not stop", p.name)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.tb.Errorf("%s: a graceful stop: exit %d", p.name, code)
	}
}

// hold ends the program with the test, and shows what it said last where that has failed.
func (p *program) hold() {
	p.tb.Helper()
	p.tb.Cleanup(func() {
		if p.cmd == nil {
			return
		}
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if p.tb.Failed() {
			p.tb.Logf("%s said in the end:\n%s", p.name, tail(p.log()))
		}
	})
}

// tail is the end of a log, without the requests that went well.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"status":200`) {
			lines = append(lines, line)
		}
	}
	const most = 25
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 3 * time.Minute

// await polls until the condition holds.
func await(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	awaitWithin(tb, patience, what, condition)
}

func awaitWithin(tb testing.TB, limit time.Duration, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %s", limit, what)
		}
		<-tick.C
	}
}
