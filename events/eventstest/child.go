package eventstest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// StartChild runs the test binary as a child process with additional environment variables, each as NAME=value, and returns once
// [RunChild] runs in it. The package's TestMain must recognize the variables and call RunChild.
func StartChild(tb testing.TB, env ...string) *exec.Cmd {
	tb.Helper()
	child := exec.CommandContext(tb.Context(), os.Args[0])
	child.Env = append(os.Environ(), env...)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := child.Start(); err != nil {
		tb.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		tb.Fatalf("child process: %v", err)
	}
	return child
}

// KillChild kills a child process with SIGKILL and waits for its end.
func KillChild(tb testing.TB, child *exec.Cmd) {
	tb.Helper()
	if err := child.Process.Kill(); err != nil {
		tb.Fatal(err)
	}
	_ = child.Wait() // the error is the signal
}

// StopChild ends a child process with SIGTERM and fails the test unless it exits with 0.
func StopChild(tb testing.TB, child *exec.Cmd) {
	tb.Helper()
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		tb.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		tb.Errorf("child process after SIGTERM: %v", err)
	}
}

// RunChild runs an actor in a child process until SIGTERM, and returns the process's exit code.
func RunChild(actor func(context.Context) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("running")
	if err := actor(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
