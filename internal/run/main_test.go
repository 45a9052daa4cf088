package run_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run"
)

func TestMain(m *testing.M) { eventstest.RunAndFindLeaks(m) }

// program fails as its flag says.
type program struct {
	Fail   string `enum:",usage,printed,error" default:""`
	Stream string `type:"stream" setting:"" missing:"name one"`
}

func (p *program) Run(ctx context.Context, streams run.Streams) error {
	switch p.Fail {
	case "usage":
		return fmt.Errorf("x: %w", &run.UsageError{Detail: "not like that"})
	case "printed":
		return run.ErrFailed
	case "error":
		return errors.New("it broke; do something")
	}
	fmt.Fprint(streams.Out, p.Stream)
	return ctx.Err()
}

func TestRun_ExitCodes(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		stream   string
		code     int
		out, err string
	}{
		{"done", nil, "A", 0, "A", ""},
		{"help", []string{"--help"}, "A", 0, "Usage:", ""},
		{"failed", []string{"--fail=error"}, "A", 1, "", "error: it broke; do something\n"},
		{"failed, error printed", []string{"--fail=printed"}, "A", 1, "", ""},
		{"bad arguments", []string{"--fail=usage"}, "A", 2, "", "not like that"},
		{"an unknown flag", []string{"--nope"}, "A", 2, "", "unknown flag --nope"},
		{"a setting missing", nil, "", 2, "", "CALLBOARD_STREAM (--stream) is missing: name one"},
		{"a password among the arguments", []string{"postgres://me:secret@db/x"}, "A", 2, "", "argument postgres://db/x"},
		{"an unencoded password", []string{"nats://me:pw@secret@db"}, "A", 2, "", "argument nats://db"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs strings.Builder
			getenv := func(string) string { return c.stream }
			code := run.Run(t.Context(), &program{}, c.args, getenv, run.Streams{Out: &out, Err: &errs})
			if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.err) {
				t.Errorf("exit code = %d, output = %q, errors = %q, want %d, %q, %q", code, &out, &errs, c.code, c.out, c.err)
			}
			if c.err == "" && errs.Len() > 0 {
				t.Errorf("errors = %q, want none", &errs)
			}
		})
	}
}

func TestConsole_HasNoColorsInFiles(t *testing.T) {
	var out strings.Builder
	log := zerolog.New(run.Console(&out))
	log.Warn().Int("partition", 3).Msg("partition stopped")
	if got := out.String(); !strings.HasSuffix(got, " WRN partition stopped partition=3\n") {
		t.Errorf("line = %q, want no colors", got)
	}
}

func TestLimitMemory_KeepsTheLimitOfTheOperator(t *testing.T) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	t.Setenv("GOGC", "")
	for before, want := range map[int64]int64{math.MaxInt64: 1 << 30, 2 << 30: 2 << 30} {
		debug.SetMemoryLimit(before)
		run.LimitMemory(1 << 30)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("limit = %d, want %d", got, want)
		}
		if got := debug.SetGCPercent(100); got != 400 {
			t.Errorf("GOGC = %d, want 400", got)
		}
	}
}

func TestRelaxGC_NeedsALimitAndNoOtherSetting(t *testing.T) {
	const before = 100
	percent, limit := debug.SetGCPercent(before), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for _, test := range []struct {
		name  string
		limit int64
		gogc  string
		want  int
	}{
		{"no limit", math.MaxInt64, "", before},
		{"a limit", 1 << 30, "", 400},
		{"a limit and GOGC", 1 << 30, "150", before},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GOGC", test.gogc)
			debug.SetMemoryLimit(test.limit)
			run.RelaxGC()
			if got := debug.SetGCPercent(before); got != test.want {
				t.Errorf("GOGC = %d, want %d", got, test.want)
			}
		})
	}
}
