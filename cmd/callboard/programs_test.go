package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"callboard/cmd/dev"
	"callboard/schema/cluster"
	"callboard/schema/schematest"
)

// programs is the folder of the programs under test.
//
//nolint:gochecknoglobals // they are built once, before the first test
var programs string

func TestMain(m *testing.M) {
	code, err := withPrograms(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// withPrograms builds the programs, and removes them in the end.
func withPrograms(run func() int) (code int, err error) {
	if programs, err = os.MkdirTemp("", "callboard-programs-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	args := []string{"build", "-o", programs + string(filepath.Separator)}
	if raceDetector {
		args = append(args, "-race")
	}
	args = append(args, "callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi")
	if out, err := exec.CommandContext(context.Background(), "go", args...).CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	code = run()
	return code, schematest.Stop()
}

// program is the path of one of the three binaries.
func program(name string) string { return filepath.Join(programs, name) }

// result is what a command said and how it ended.
type result struct {
	out, err string
	code     int
}

// command runs callboard to its end, with nothing in its environment but env.
func command(tb testing.TB, env map[string]string, input string, args ...string) result {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), program("callboard"), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment(env), strings.NewReader(input), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatalf("%v: %v", args, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// succeed runs a command that has to.
func succeed(tb testing.TB, env map[string]string, input string, args ...string) string {
	tb.Helper()
	r := command(tb, env, input, args...)
	if r.code != 0 {
		tb.Fatalf("%v: exit %d: %s", args, r.code, r.err)
	}
	return r.out
}

func environment(env map[string]string) []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// daemon is a program that runs until it is told to stop.
type daemon struct {
	testing.TB
	cmd      *exec.Cmd
	out, err *output
	ended    chan struct{}
}

// start starts one of the programs. It does not outlive the test.
func start(tb testing.TB, name string, env map[string]string, args ...string) *daemon {
	tb.Helper()
	// Its end is the cleanup's, which comes after the end of the test's own context.
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program(name), args...)
	d := &daemon{TB: tb, cmd: cmd, out: &output{}, err: &output{}, ended: make(chan struct{})}
	d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = environment(env), d.out, d.err
	if err := d.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // how it ended is in its state
	}()
	tb.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.ended
		if tb.Failed() {
			tb.Logf("%s said:\n%s%s", name, d.out, d.err)
		}
	})
	return d
}

// stop sends the signal and returns the exit code.
func (d *daemon) stop(signal os.Signal) int {
	d.Helper()
	if err := d.cmd.Process.Signal(signal); err != nil {
		d.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.Fatalf("it does not stop:\n%s", d.err)
	}
	return d.cmd.ProcessState.ExitCode()
}

// output is what a program has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// instance is a running dev.
type instance struct {
	*daemon
	dev.Ready
	dir string
}

// startDev starts dev on free ports with its data in dir and returns once it serves.
func startDev(tb testing.TB, dir string, args ...string) *instance {
	tb.Helper()
	ready := filepath.Join(tb.TempDir(), "ready.json")
	args = append([]string{"dev", "--data", dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--ready-file", ready}, args...)
	tb.Cleanup(func() {
		// Under root the cluster may lie elsewhere.
		if err := cluster.Remove(filepath.Join(dir, "postgres")); err != nil {
			tb.Errorf("cluster: %v", err)
		}
	})
	i := &instance{daemon: start(tb, "callboard", nil, args...), dir: dir}
	eventually(tb, func() error {
		select {
		case <-i.ended:
			tb.Fatalf("dev ended:\n%s", i.err)
		default:
		}
		text, err := os.ReadFile(ready)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &i.Ready)
	})
	return i
}

// postgres is the process of the instance's server, while it runs.
func (i *instance) postgres() int {
	i.Helper()
	text, err := os.ReadFile(filepath.Join(i.dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		i.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		i.Fatal(err)
	}
	return pid
}

// gone fails until the process has ended.
func gone(pid int) error {
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d is still there: %w", pid, err)
	}
	return nil
}

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 2 * time.Minute

// eventually polls until something has come true.
func eventually(tb testing.TB, try func() error) {
	tb.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			tb.Fatalf("it never came true: %v", err)
		case <-tick.C:
		}
	}
}
