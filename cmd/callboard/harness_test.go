package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"callboard/events/eventstest"
	"callboard/internal/run"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) {
	eventstest.RunAtOnce(6)
	schematest.RunAndFindLeaks(m)
}

// systemID and ownCallID are a phone system and a call of it.
const (
	systemID  = "7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10"
	ownCallID = "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f"
)

// result is a command's output and exit code.
type result struct {
	out, err string
	code     int
}

// command runs a callboard command in this process. It sees no environment variables but env.
func command(tb testing.TB, env map[string]string, input string, args ...string) result {
	tb.Helper()
	var out, errs bytes.Buffer
	streams := run.Streams{In: strings.NewReader(input), Out: &out, Err: &errs}
	getenv := func(name string) string { return env[name] }
	code := run.Run(tb.Context(), &commands{}, args, getenv, streams, kong.Name("callboard"), kong.Description(description), commandVars())
	return result{out.String(), errs.String(), code}
}

// succeed runs a command in this process and returns its output. The test ends if the command fails.
func succeed(tb testing.TB, env map[string]string, input string, args ...string) string {
	tb.Helper()
	r := command(tb, env, input, args...)
	if r.code != 0 {
		tb.Fatalf("%v: exit code = %d, want 0: %s", args, r.code, r.err)
	}
	return r.out
}

// expectUsageErrors runs commands that must be refused with exit code 2 and without output.
func expectUsageErrors(tb testing.TB, env map[string]string, commands ...[]string) {
	tb.Helper()
	for _, args := range commands {
		if r := command(tb, env, "", args...); r.code != 2 || r.out != "" {
			tb.Errorf("%v: exit code = %d, output = %q, want 2 and none: %s", args, r.code, r.out, r.err)
		}
	}
}
