package fault_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callboard/deploy/test/programtest"
)

// The programs are built once for all tests of a run, with the race detector if the tests have it.
//
//nolint:gochecknoglobals // what is built is the same for all tests
var (
	callboardPrograms = programtest.New(
		"callboard/cmd/callboard", "callboard/cmd/projector", "callboard/cmd/readapi", "callboard/cmd/webhooks",
	)
	natsProgram = programtest.New("github.com/nats-io/nats-server/v2")
)

type process = programtest.Process

// newProcess returns a process of callboard's that is not started.
func newProcess(tb testing.TB, program, name string, env map[string]string) *process {
	tb.Helper()
	return programtest.NewProcess(tb, name, callboardPrograms.Path(tb, program), env)
}

// reader is a reader's process. Every start gives it another URL.
type reader struct {
	*process
	url atomic.Pointer[string] // nil while it is killed or started and need not answer
}

func (r *reader) Start() {
	r.Helper()
	r.process.Start()
	url := "http://" + r.Await(`"public":"([^"]+)"`)[1] + "/v1/customer/phone-systems"
	r.url.Store(&url)
}

func (r *reader) Kill() {
	r.Helper()
	r.url.Store(nil)
	r.process.Kill()
}

// logOf returns the reader's log line about a request, by its problem document.
func (r *reader) logOf(document []byte) string {
	var problem struct{ CorrelationID string }
	if json.Unmarshal(document, &problem) != nil || problem.CorrelationID == "" {
		return ""
	}
	for line := range strings.Lines(r.Out.String() + r.Err.String()) {
		if strings.Contains(line, problem.CorrelationID) {
			return line
		}
	}
	return ""
}

// command is a callboard command that runs. There is one at a time.
type command struct {
	*process
	args []string
}

// commandLimit is how long a command may take: it reads a stream that has grown for hours, on a busy machine.
const commandLimit = 15 * time.Minute

// startCommand starts a callboard command with direct connections.
func (h *harness) startCommand(args ...string) command {
	h.tb.Helper()
	h.operator.Start(args...)
	return command{h.operator, args}
}

// wait waits until the command exits, and returns its exit code.
func (c command) wait() (code int) {
	c.Helper()
	return c.Wait(commandLimit)
}

// mustSucceed waits until the command exits, and fails the test if its exit code isn't 0.
func (c command) mustSucceed() {
	c.Helper()
	if code := c.wait(); code != 0 {
		c.Fatalf("callboard %s: exit code = %d, want 0:\n%s", c.args, code, c.LastOutput())
	}
}

// killIfRunning kills the command. If it has exited before, its exit code must be 0.
func (c command) killIfRunning() {
	c.Helper()
	if !c.KillIfRunning() {
		c.Log("the command had exited before")
		c.mustSucceed()
	}
}

// command runs a callboard command and decodes its JSON output into v.
func (h *harness) command(v any, args ...string) {
	h.tb.Helper()
	c := h.startCommand(append(args, "--json")...)
	c.mustSucceed()
	if err := json.Unmarshal([]byte(c.Out.String()), v); err != nil {
		h.tb.Fatalf("callboard %s: %v: %s", args, err, c.LastOutput())
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
