package run_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"callboard/internal/run"
)

// versionProgram is a program with the command, as in its main package.
type versionProgram struct {
	Version run.VersionCommand `cmd:""`
}

func printVersion(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	code := run.Run(t.Context(), &versionProgram{}, args, func(string) string { return "" }, run.Streams{Out: &out, Err: &errs},
		kong.Name("reader"))
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit code = %d, errors = %q, want 0 and none", args, code, &errs)
	}
	return out.String()
}

func TestVersionCommand(t *testing.T) {
	if got := printVersion(t, "version"); !strings.HasPrefix(got, "reader ") || !strings.HasSuffix(got, ", "+runtime.Version()+"\n") {
		t.Errorf("output = %q, want the program's name and %s", got, runtime.Version())
	}
	var build run.Build
	if out := printVersion(t, "version", "--json"); json.Unmarshal([]byte(out), &build) != nil || build != run.ReadBuild() {
		t.Errorf("output = %s, want %+v", out, run.ReadBuild())
	}
}

func TestBuild_String(t *testing.T) {
	for want, build := range map[string]run.Build{
		"(devel), go1.26.8":                                      {Version: "(devel)", Go: "go1.26.8"},
		"v1.2.0 abc of 2026-11-01T10:00:00Z, go1.26.8":           {Version: "v1.2.0", Revision: "abc", Time: "2026-11-01T10:00:00Z", Go: "go1.26.8"},
		"v1.2.1 abc of 2026-11-01T10:00:00Z, modified, go1.26.8": {Version: "v1.2.1", Revision: "abc", Time: "2026-11-01T10:00:00Z", Modified: true, Go: "go1.26.8"},
	} {
		if got := build.String(); got != want {
			t.Errorf("build = %q, want %q", got, want)
		}
	}
}
