package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is callboard's module, from a folder of tests. The programs are built there, with the versions of its
// dependencies.
const root = "../../.."

// Programs are built when a test asks for the first of them, and are the same for all tests of a run.
type Programs struct {
	packages []string

	building sync.Mutex
	dir      string // of the binaries; empty until they are built
}

// New returns the programs of packages. Those of callboard have the race detector if the tests have it.
func New(packages ...string) *Programs { return &Programs{packages: packages} }

// RaceDetector reports whether the tests have the race detector.
func RaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Path returns the path of a program.
func (p *Programs) Path(tb testing.TB, name string) string {
	tb.Helper()
	p.building.Lock()
	defer p.building.Unlock()
	if p.dir == "" {
		p.build(tb)
	}
	return filepath.Join(p.dir, name)
}

// Remove removes the binaries, after the last test.
func (p *Programs) Remove() error { return os.RemoveAll(p.dir) }

// build builds the programs.
func (p *Programs) build(tb testing.TB) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "callboard-programs-") //nolint:usetesting // other tests use the programs too
	if err != nil {
		tb.Fatal(err)
	}

	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)} // they link faster without debug information
	if RaceDetector() && strings.HasPrefix(p.packages[0], "callboard/") {
		args = append(args, "-race")
	}

	cmd := exec.CommandContext(tb.Context(), "go", append(args, p.packages...)...) //nolint:gosec // the test's own packages
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	p.dir = dir
}
