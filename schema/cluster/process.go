package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a child of this program that is ended with it where the kernel can do that.
type process struct {
	cmd   *exec.Cmd
	asked atomic.Bool   // to end, by this program
	done  chan struct{} // closed once the child has been waited for
	err   error         // of that wait; read it after done
}

// startProcess runs cmd in a process group of its own, out of reach of a terminal's Ctrl-C.
//
// Its goroutine lives exactly as long as the child. Linux sends the parent's
// death signal when the parent *thread* ends, so that thread must not go back to
// the runtime, which is free to end it.
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

// run waits for cmd to end. When ctx ends first, cmd is interrupted, then killed.
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
		return errors.Join(context.Cause(ctx), p.end(patience{syscall.SIGINT, 5 * time.Second}))
	}
}

// patience is how long a process may take to heed a signal.
type patience struct {
	signal os.Signal
	wait   time.Duration
}

// stop asks for PostgreSQL's fast shutdown, then for the immediate one. A
// checkpoint of a busy server on a slow disk is what the first may take long for.
func (p *process) stop() error {
	return p.end(patience{syscall.SIGINT, 30 * time.Second}, patience{syscall.SIGQUIT, 10 * time.Second})
}

// kill asks for PostgreSQL's immediate shutdown.
func (p *process) kill() {
	// Its error says that the process won't die, which no caller could help.
	_ = p.end(patience{syscall.SIGQUIT, 10 * time.Second})
}

// end sends the signals in turn until the process heeds one, and kills it if it heeds none.
func (p *process) end(signals ...patience) error {
	p.asked.Store(true)
	for _, s := range append(signals, patience{os.Kill, 5 * time.Second}) {
		// A process that has just ended can't be signalled, which done will tell.
		_ = p.cmd.Process.Signal(s.signal)
		select {
		case <-p.done:
			return nil
		case <-time.After(s.wait):
		}
	}
	return errors.New("the process does not end")
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) endedByItself() bool { return p.ended() && !p.asked.Load() }
