package fault_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// The programs are built once for all tests of a run, with the race detector if the tests have it.
//
//nolint:gochecknoglobals // what is built is the same for all tests
var (
	callboardPrograms = &build{race: raceDetector(), packages: []string{
		"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks",
	}}
	natsProgram = &build{packages: []string{"github.com/nats-io/nats-server/v2"}}
)

// build builds programs on first use.
type build struct {
	packages []string
	race     bool

	mu  sync.Mutex // held while it builds
	dir string     // of the binaries; empty until they are built
}

func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// path returns the path of a program, which it builds first if necessary.
func (b *build) path(tb testing.TB, name string) string {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "callboard-fault-") //nolint:usetesting // other tests use the programs too
		if err != nil {
			tb.Fatal(err)
		}
		args := []string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)} // they link faster without debug information
		if b.race {
			args = append(args, "-race")
		}
		if out, err := exec.CommandContext(tb.Context(), "go", append(args, b.packages...)...).CombinedOutput(); err != nil {
			tb.Fatalf("build: %v\n%s", err, out)
		}
		b.dir = dir
	}
	return filepath.Join(b.dir, name)
}

func (b *build) remove() error { return os.RemoveAll(b.dir) }

// process is a program that runs as a process and can be restarted. Its methods must be called from the test's own goroutine.
type process struct {
	tb    testing.TB
	name  string // in test output and of the log file
	path  string
	args  []string
	env   map[string]string
	logs  string // the folder of log files
	kills int

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has exited
}

// newProcess returns a process that is not started. Its end is the test's end; a failed test logs the last lines of its output.
func newProcess(tb testing.TB, b *build, program, name, logs string) *process {
	tb.Helper()
	p := &process{tb: tb, name: name, path: b.path(tb, program), logs: logs}
	tb.Cleanup(func() {
		if p.cmd == nil {
			return
		}
		_ = p.cmd.Process.Kill() // it may have exited
		<-p.exited
		if tb.Failed() {
			tb.Logf("last output of %s:\n%s", name, p.logTail())
		}
	})
	return p
}

func (p *process) start() {
	p.tb.Helper()
	_ = os.Rename(p.log(), p.log()+".before") // at the first start there is none
	log, err := os.Create(p.log())
	if err != nil {
		p.tb.Fatal(err)
	}
	defer log.Close() // the process has another handle
	// The cleanup kills the process, later than the end of the test's context.
	p.cmd = exec.CommandContext(context.WithoutCancel(p.tb.Context()), p.path, p.args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.environment(), log, log
	p.cmd.SysProcAttr = endWithParent()
	cmd, started, exited := p.cmd, make(chan error), make(chan struct{})
	p.exited = exited
	go func() {
		defer close(exited)
		runtime.LockOSThread() // Linux takes the end of this thread for that of the parent
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the process state tells how it ended
		}
	}()
	if err := <-started; err != nil {
		p.tb.Fatal(err)
	}
}

func (p *process) environment() []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range p.env {
		list = append(list, name+"="+value)
	}
	return list
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) log() string { return filepath.Join(p.logs, p.name+".log") }

// awaitLog waits until the log matches a pattern, and returns its first group.
func (p *process) awaitLog(pattern string) (text string) {
	p.tb.Helper()
	compiled := regexp.MustCompile(pattern)
	eventstest.Eventually(p.tb, p.name+" logs "+pattern, func() bool {
		log, err := os.ReadFile(p.log())
		if err != nil {
			p.tb.Fatal(err)
		}
		p.checkRunning()
		if match := compiled.FindSubmatch(log); match != nil {
			text = string(match[1])
		}
		return text != ""
	})
	return text
}

// logTail returns the last lines of the log, without successful requests.
func (p *process) logTail() string {
	text, err := os.ReadFile(p.log())
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

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// checkRunning fails the test if the process has exited: no fault ends one without [process.kill].
func (p *process) checkRunning() {
	p.tb.Helper()
	if p.hasExited() {
		p.tb.Fatalf("%s has exited: %s", p.name, p.cmd.ProcessState)
	}
}

func (p *process) signal(signal os.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.tb.Fatalf("%s: %v", p.name, err)
	}
}

func (p *process) kill() {
	p.tb.Helper()
	p.checkRunning()
	p.signal(syscall.SIGKILL)
	<-p.exited
	p.kills++
}

// stop ends the process as an operator does, with SIGTERM.
func (p *process) stop() {
	p.tb.Helper()
	p.checkRunning()
	p.signal(syscall.SIGTERM)
	eventstest.Eventually(p.tb, p.name+" stops", p.hasExited)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.tb.Errorf("%s: exit code after SIGTERM = %d, want 0", p.name, code)
	}
}

// reader is a reader's process. Every start gives it another URL.
type reader struct {
	*process
	url atomic.Pointer[string] // nil while it is killed or started and need not answer
}

func (r *reader) start() {
	r.tb.Helper()
	r.process.start()
	url := "http://" + r.awaitLog(`"public":"([^"]+)"`) + "/v1/customer/phone-systems"
	r.url.Store(&url)
}

func (r *reader) kill() {
	r.tb.Helper()
	r.url.Store(nil)
	r.process.kill()
}

// command is a callboard command that runs. There is one at a time.
type command struct {
	*process
}

// commandLimit is how long a command may take: it reads a stream that has grown for hours, on a busy machine.
const commandLimit = 15 * time.Minute

// startCommand starts a callboard command with direct connections.
func (h *harness) startCommand(args ...string) command {
	h.tb.Helper()
	c := command{h.operator}
	c.args = args
	c.start()
	return c
}

// wait waits until the command exits, and returns its exit code.
func (c command) wait() (code int) {
	c.tb.Helper()
	select {
	case <-c.exited:
	case <-time.After(commandLimit):
		c.tb.Fatalf("callboard %s has not exited within %s:\n%s", c.args, commandLimit, c.logTail())
	}
	return c.cmd.ProcessState.ExitCode()
}

// mustSucceed waits until the command exits, and fails the test if its exit code isn't 0.
func (c command) mustSucceed() {
	c.tb.Helper()
	if code := c.wait(); code != 0 {
		c.tb.Fatalf("callboard %s: exit code = %d, want 0:\n%s", c.args, code, c.logTail())
	}
}

// killIfRunning kills the command. If it has exited before, its exit code must be 0.
func (c command) killIfRunning() {
	c.tb.Helper()
	_ = c.cmd.Process.Kill() // it may have exited
	<-c.exited
	if !c.cmd.ProcessState.Exited() {
		c.kills++
		return
	}
	c.tb.Log("the command had exited before")
	c.mustSucceed()
}

// command runs a callboard command and decodes its JSON output into v.
func (h *harness) command(v any, args ...string) {
	h.tb.Helper()
	c := h.startCommand(append(args, "--json")...)
	c.mustSucceed()
	output, err := os.ReadFile(c.log())
	if err != nil {
		h.tb.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), v); err != nil {
		h.tb.Fatalf("callboard %s: %v: %s", args, err, output)
	}
}

// verify runs callboard verify.
func (h *harness) verify() {
	h.tb.Helper()
	var result struct{ Rows int64 }
	if h.command(&result, "verify"); result.Rows == 0 {
		h.tb.Error("callboard verify: rows = 0, want more")
	}
}
