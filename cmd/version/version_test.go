package version_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"callboard/cmd/process"
	"callboard/cmd/version"
)

// program is a program with the command, as in its main package.
type program struct {
	Version version.Command `cmd:""`
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	code := process.Run(t.Context(), &program{}, args, func(string) string { return "" }, process.Streams{Out: &out, Err: &errs},
		kong.Name("reader"))
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit code = %d, errors = %q, want 0 and none", args, code, &errs)
	}
	return out.String()
}

func TestCommand(t *testing.T) {
	if got := run(t, "version"); !strings.HasPrefix(got, "reader ") || !strings.HasSuffix(got, ", "+runtime.Version()+"\n") {
		t.Errorf("output = %q, want the program's name and %s", got, runtime.Version())
	}
	var build version.Build
	if out := run(t, "version", "--json"); json.Unmarshal([]byte(out), &build) != nil || build != version.Read() {
		t.Errorf("output = %s, want %+v", out, version.Read())
	}
}

func TestBuild_String(t *testing.T) {
	for want, build := range map[string]version.Build{
		"(devel), go1.26.8":                                      {Version: "(devel)", Go: "go1.26.8"},
		"v1.2.0 abc of 2026-11-01T10:00:00Z, go1.26.8":           {Version: "v1.2.0", Revision: "abc", Time: "2026-11-01T10:00:00Z", Go: "go1.26.8"},
		"v1.2.1 abc of 2026-11-01T10:00:00Z, modified, go1.26.8": {Version: "v1.2.1", Revision: "abc", Time: "2026-11-01T10:00:00Z", Modified: true, Go: "go1.26.8"},
	} {
		if got := build.String(); got != want {
			t.Errorf("build = %q, want %q", got, want)
		}
	}
}
