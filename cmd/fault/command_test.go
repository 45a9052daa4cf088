package fault_test

import (
	"encoding/json"
	"os"
	"strings"
	"time"
)

// command is callboard as an operator runs it, past all lines. One runs at a time.
type command struct {
	*program
}

// commandLimit is how long a command may take: it reads a stream that has grown for hours, on a machine that is busy.
const commandLimit = 5 * patience

// begin starts a command.
func (s *stage) begin(args ...string) command {
	s.tb.Helper()
	c := command{s.operator}
	c.args = args
	c.start()
	return c
}

// finish waits for the command's end, and returns how it ended.
func (c command) finish() (code int) {
	c.tb.Helper()
	select {
	case <-c.ended:
	case <-time.After(commandLimit):
		c.tb.Fatalf("callboard %s doesn't come to an end:\n%s", c.args, tail(c.log()))
	}
	return c.cmd.ProcessState.ExitCode()
}

// over tells whether the command has come to its end.
func (c command) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// cut kills the command, unless it came to its end before; then that must have been a good one.
func (c command) cut() {
	c.tb.Helper()
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
	if !c.cmd.ProcessState.Exited() {
		c.kills++
		return
	}
	c.tb.Log("it was over before")
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.tb.Errorf("callboard %s: exit %d:\n%s", c.args, code, tail(c.log()))
	}
}

// command runs callboard to its end, which must be a good one, and reads into v what it says in JSON.
func (s *stage) command(v any, args ...string) {
	s.tb.Helper()
	c := s.begin(append(args, "--json")...)
	code := c.finish()
	said, err := os.ReadFile(c.log())
	if err != nil {
		s.tb.Fatal(err)
	}
	if code != 0 {
		s.tb.Fatalf("callboard %s: exit %d:\n%s", args, code, tail(c.log()))
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), v); err != nil {
		s.tb.Fatalf("callboard %s: %v: %s", args, err, said)
	}
}

// verify has callboard hold what is served against the stream.
func (s *stage) verify() {
	s.tb.Helper()
	var found struct{ Rows int64 }
	if s.command(&found, "verify"); found.Rows == 0 {
		s.tb.Error("callboard verify has compared nothing")
	}
}
