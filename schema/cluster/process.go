package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a child process.
type process struct {
	cmd       *exec.Cmd
	signalled atomic.Bool   // by this program
	done      chan struct{} // closed once the child has been waited for
	err       error         // of that wait; read it after done
}

// startProcess starts cmd in a separate process group, so that a terminal's Ctrl-C does not reach it.
//
// The goroutine keeps its thread until the child ends: Linux sends the parent-death signal when the parent *thread* ends,
// and the runtime may end a thread that it gets back.
func startProcess(cmd *exec.Cmd) (*process, error) {
	detach(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run waits for cmd to end. If ctx ends first, run interrupts cmd, then kills it.
func run(ctx context.Context, cmd *exec.Cmd) error {
	// A grandchild that outlives cmd must not keep Wait waiting for its output.
	cmd.WaitDelay = 5 * time.Second
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.end(signalStep{syscall.SIGINT, 5 * time.Second}))
	}
}

// signalStep is a signal and the time that the process has to end after it.
type signalStep struct {
	signal  os.Signal
	timeout time.Duration
}

// PostgreSQL's fast shutdown rolls transactions back and writes a checkpoint, which can take long on a slow disk. The
// immediate shutdown ends like a crash, as soon as PostgreSQL has ended its other processes, for which it takes some seconds: one that
// outlived it would keep the next server from starting.
func fastShutdown() signalStep      { return signalStep{syscall.SIGINT, 30 * time.Second} }
func immediateShutdown() signalStep { return signalStep{syscall.SIGQUIT, time.Minute} }

// endProcess sends the signals one after the other until the process has ended, and at last SIGKILL. ended waits for the
// end and reports whether it came in time.
func endProcess(ctx context.Context, p *os.Process, ended func(time.Duration) bool, steps ...signalStep) error {
	for _, s := range append(steps, signalStep{os.Kill, 5 * time.Second}) {
		if err := p.Signal(s.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if ended(s.timeout) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d does not end", p.Pid)
}

func (p *process) end(steps ...signalStep) error {
	p.signalled.Store(true)
	ended := func(timeout time.Duration) bool {
		select {
		case <-p.done:
			return true
		case <-time.After(timeout):
			return false
		}
	}
	return endProcess(context.Background(), p.cmd.Process, ended, steps...)
}

func (p *process) stop() error { return p.end(fastShutdown(), immediateShutdown()) }

func (p *process) kill() {
	// No caller can handle a process that survives SIGKILL.
	_ = p.end(immediateShutdown())
}

// crashed reports whether the process ended without a signal of this program.
func (p *process) crashed() bool {
	select {
	case <-p.done:
		return !p.signalled.Load()
	default:
		return false
	}
}

// stopRunningServer stops a server that runs on the data directory. The caller holds the folder's lock, so the process
// that started the server has ended.
func stopRunningServer(ctx context.Context, data string) error {
	pidFile := filepath.Join(data, "postmaster.pid")
	pid, err := readPID(pidFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The handle is taken before the command line is read, so that the signals go to the process that was looked at.
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }() // it holds nothing but the handle
	if errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return nil // PostgreSQL itself replaces the file of a server that has ended
	}
	if !servesData(ctx, pid, data) {
		// The pid belongs to another program now. PostgreSQL would take it for a running server and refuse to start.
		return os.Remove(pidFile)
	}
	ended := func(timeout time.Duration) bool { return waitEnded(ctx, pid, data, timeout) }
	return endProcess(ctx, p, ended, fastShutdown(), immediateShutdown())
}

// readPID reads a postmaster.pid. A file that was written in part counts as absent.
func readPID(file string) (int, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return 0, fs.ErrNotExist
	}
	return pid, nil
}

// servesData reports whether the process is a server that this package started on the data directory.
func servesData(ctx context.Context, pid int, data string) bool {
	return strings.Contains(commandLine(ctx, pid)+" ", "/postgres -D "+data+" ")
}

// waitEnded waits until the process has ended. It looks at the command line, because a process that nobody waits for stays
// in the process table after its end.
func waitEnded(ctx context.Context, pid int, data string, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for servesData(ctx, pid, data) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return ctx.Err() == nil
}

// commandLine is the command line of the process, or empty if there is no such process.
func commandLine(ctx context.Context, pid int) string {
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))
	}
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
