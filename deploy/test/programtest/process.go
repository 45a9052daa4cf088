package programtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// stopLimit is how long a process may take to exit after a signal. It takes far less on a machine that does nothing
// else.
const stopLimit = 3 * time.Minute

// Process is a program that runs as a process and can be restarted. Its methods must be called from the test's own
// goroutine.
type Process struct {
	testing.TB
	Out, Err Output

	name, path string
	env        map[string]string
	cmd        *exec.Cmd     // nil before the first start
	exited     chan struct{} // closed when the process has exited
	kills      int
}

// Output is the file of what a process has printed since its start.
type Output string

// String returns the text.
func (o Output) String() string {
	text, err := os.ReadFile(string(o))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Contains reports whether the text contains another one.
func (o Output) Contains(text string) bool { return strings.Contains(o.String(), text) }

// Environment returns PATH, HOME and variables.
func Environment(variables map[string]string) []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range variables {
		list = append(list, name+"="+value)
	}
	return list // the last value of a name applies
}

// Run runs a program with an input to its end, and returns its outputs and its exit code: -1 if a signal killed it. Its
// environment is [Environment]. The end of ctx interrupts it.
func Run(ctx context.Context, tb testing.TB, path string, env map[string]string, input string, args ...string) (out, errs string, code int) {
	tb.Helper()
	// After the end of ctx the program has stopLimit to exit. Then it is killed.
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // a program under test
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopLimit
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = Environment(env), strings.NewReader(input), &stdout, &stderr

	// The caller judges the exit code. Any other error means that the program did not run.
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		tb.Fatalf("%s %v: %v", filepath.Base(path), args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// NewProcess returns a process that is not started. It is killed when the test ends; a failed test logs the last lines
// of its output. The name is that of the files of its output.
func NewProcess(tb testing.TB, name, path string, env map[string]string) *Process {
	tb.Helper()
	dir := tb.TempDir()
	p := &Process{
		TB: tb, name: name, path: path, env: env,
		Out: Output(filepath.Join(dir, name+".out")), Err: Output(filepath.Join(dir, name+".err")),
	}

	tb.Cleanup(func() {
		// A test can end before it starts the process.
		if p.cmd == nil {
			return
		}

		p.KillIfRunning()
		if tb.Failed() {
			tb.Logf("last output of %s:\n%s", name, p.LastOutput())
		}
	})

	return p
}

// Start starts the process. Its output replaces that of the start before.
func (p *Process) Start(args ...string) {
	p.Helper()
	// The cleanup kills the process, later than the end of the test's context.
	cmd, started, exited := exec.CommandContext(context.WithoutCancel(p.Context()), p.path, args...), make(chan error), make(chan struct{}) //nolint:gosec // a program under test

	out, errs := p.create(p.Out), p.create(p.Err)
	defer out.Close() // the process has another handle
	defer errs.Close()
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = Environment(p.env), out, errs, endWithParent()

	// One goroutine starts the process and waits for its end.
	p.cmd, p.exited = cmd, exited
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
		p.Fatal(err)
	}
}

func (p *Process) create(o Output) *os.File {
	p.Helper()
	file, err := os.Create(string(o))
	if err != nil {
		p.Fatal(err)
	}
	return file
}

// Name returns the process's name.
func (p *Process) Name() string { return p.name }

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kills returns how often the process was killed.
func (p *Process) Kills() int { return p.kills }

// Await waits until the output matches a pattern, and returns its groups.
func (p *Process) Await(pattern string) (groups []string) {
	p.Helper()
	compiled := regexp.MustCompile(pattern)

	eventstest.Eventually(p, p.name+" prints "+pattern, func() bool {
		exited := p.HasExited() // asked before its output is read

		if groups = compiled.FindStringSubmatch(p.Err.String()); groups == nil {
			groups = compiled.FindStringSubmatch(p.Out.String())
		}

		// The output was complete, so the pattern can't appear any more.
		if groups == nil && exited {
			p.Fatalf("%s has exited: %s", p.name, p.cmd.ProcessState)
		}
		return groups != nil
	})

	return groups
}

// secret matches keys, webhook secrets and the passwords of URLs.
var secret = regexp.MustCompile(`(sk_phones_[0-9A-Za-z]+_|whsec_)[0-9A-Za-z+/=]+|(://[^:/@\s]+:)[^/@\s]+(@)`)

// LastOutput returns the last lines of the output, without secrets and without the lines of successful requests.
func (p *Process) LastOutput() string {
	var lines []string
	for line := range strings.Lines(p.Out.String() + p.Err.String()) {
		if !strings.Contains(line, `"status":200`) {
			lines = append(lines, line)
		}
	}
	const most = 25
	return secret.ReplaceAllString(strings.Join(lines[max(0, len(lines)-most):], ""), "$1$2...$3")
}

// HasExited reports whether the process has exited.
func (p *Process) HasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// RequireRunning fails the test if the process has exited.
func (p *Process) RequireRunning() {
	p.Helper()
	if p.HasExited() {
		p.Fatalf("%s has exited: %s", p.name, p.cmd.ProcessState)
	}
}

// Signal sends a signal.
func (p *Process) Signal(signal os.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.Fatalf("%s: %v", p.name, err)
	}
}

// Kill kills the process, which must run.
func (p *Process) Kill() {
	p.Helper()
	p.RequireRunning()
	p.Signal(syscall.SIGKILL)
	<-p.exited
	p.kills++
}

// KillIfRunning kills the process unless it has exited before, and reports whether it was killed.
func (p *Process) KillIfRunning() (killed bool) {
	_ = p.cmd.Process.Kill() // it may have exited
	<-p.exited
	if killed = !p.cmd.ProcessState.Exited(); killed {
		p.kills++
	}
	return killed
}

// Wait waits until the process exits, and returns its exit code: -1 if a signal killed it. The test fails if it takes
// longer than the limit.
func (p *Process) Wait(limit time.Duration) (code int) {
	p.Helper()
	select {
	case <-p.exited:
	case <-time.After(limit):
		p.Fatalf("%s has not exited within %s:\n%s", p.name, limit, p.LastOutput())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Stop sends a signal and returns the exit code.
func (p *Process) Stop(signal os.Signal) (code int) {
	p.Helper()
	p.Signal(signal)
	return p.Wait(stopLimit)
}

// StopCleanly sends a signal to the process, which must run, and must exit with 0.
func (p *Process) StopCleanly(signal os.Signal) {
	p.Helper()
	p.RequireRunning()
	if code := p.Stop(signal); code != 0 {
		p.Errorf("%s: exit code after %s = %d, want 0", p.name, signal, code)
	}
}
