//go:build linux

package load_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// programs is the folder of the programs, which are built once for all tests of a run.
//
//nolint:gochecknoglobals // what is built is the same for all tests
var programs struct {
	once sync.Once
	dir  string
	err  error
}

// program returns the path of a program.
func program(tb testing.TB, name string) string {
	tb.Helper()
	programs.once.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "callboard-load-"); programs.err == nil { //nolint:usetesting // other tests use the programs too
			programs.err = build(programs.dir)
		}
	})
	if programs.err != nil {
		tb.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, name)
}

func build(dir string) error {
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), //nolint:noctx // the tests need it
		"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks",
		"github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

func removePrograms() error { return os.RemoveAll(programs.dir) }

// process is a program that runs until the test ends.
type process struct {
	testing.TB
	name   string
	log    string // path of its output
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has exited
}

func startProcess(tb testing.TB, name, path string, args []string, env map[string]string) *process {
	tb.Helper()
	p := &process{TB: tb, name: name, log: filepath.Join(tb.TempDir(), name+".log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close() // the process has another handle
	p.cmd = exec.CommandContext(context.WithoutCancel(tb.Context()), path, args...)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for key, value := range env {
		p.cmd.Env = append(p.cmd.Env, key+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.kill()
		if tb.Failed() {
			tb.Logf("last output of %s:\n%s", name, p.lastOutput())
		}
	})
	return p
}

// run starts the process and waits for its end, in one thread: Linux takes the end of the thread for that of the parent.
func (p *process) run(started chan<- error) {
	defer close(p.exited)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // it is killed
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have exited
	<-p.exited
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// awaitOutput waits until the output matches a pattern, and returns its groups.
func (p *process) awaitOutput(pattern string) (groups []string) {
	p.Helper()
	compiled := regexp.MustCompile(pattern)
	eventstest.Eventually(p, p.name+" prints "+pattern, func() bool {
		select {
		case <-p.exited:
			p.Fatalf("%s has exited: %s", p.name, p.cmd.ProcessState)
		default:
		}
		text, err := os.ReadFile(p.log)
		if err != nil {
			p.Fatal(err)
		}
		groups = compiled.FindStringSubmatch(string(text))
		return groups != nil
	})
	return groups
}

// lastOutput returns the last lines of the output, without those of successful requests.
func (p *process) lastOutput() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"message":"request finished"`) {
			lines = append(lines, line)
		}
	}
	const most = 20
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// cpuTime returns the processor time that a process and its children have used since its start.
func cpuTime(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	stat, ok := readStat(pid)
	if !ok {
		tb.Fatalf("process %d has exited", pid)
	}
	ticks := stat.own + stat.reaped
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if s, ok := readStat(child); ok && s.parent == pid {
			ticks += s.own + s.reaped
		}
	}
	const ticksPerSecond = 100 // USER_HZ is 100 on all platforms that Go supports
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// procStat is what /proc/PID/stat says. Times are in ticks.
type procStat struct {
	parent      int
	own, reaped int64 // of the process, and of its children that have exited
}

// readStat returns false for a process that has exited.
func readStat(pid int) (s procStat, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// The second field is the program's name in parentheses, which may contain spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	number := func(field int) int64 { // as proc(5) numbers the fields
		n, _ := strconv.ParseInt(fields[field-3], 10, 64) // the kernel's format
		return n
	}
	return procStat{parent: int(number(4)), own: number(14) + number(15), reaped: number(16) + number(17)}, true
}

// memory returns the resident memory of a process and its maximum, in MiB.
func (p *process) memory() (now, highest int64) {
	p.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		p.Fatal(err)
	}
	read := func(name string) int64 {
		match := regexp.MustCompile(name + `:\s*(\d+) kB`).FindSubmatch(text)
		if match == nil {
			p.Fatalf("no %s in the status of %s", name, p.name)
		}
		n, _ := strconv.ParseInt(string(match[1]), 10, 64) // it has digits only
		return n >> 10
	}
	return read("VmRSS"), read("VmHWM")
}
