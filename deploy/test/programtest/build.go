package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
)

// root is callboard's module, from a folder of tests. The programs are built there, with the versions of its
// dependencies.
const root = "../../.."

// Programs are built when a test asks for the first of them, and are the same for all tests of a run.
type Programs struct {
	packages []string
	race     bool

	building sync.Mutex
	dir      string // of the binaries; empty until they are built
}

// New returns the programs of packages.
func New(packages ...string) *Programs { return &Programs{packages: packages} }

// WithRaceDetector builds the programs with the race detector if the tests have it.
func (p *Programs) WithRaceDetector() *Programs {
	p.race = RaceDetector()
	return p
}

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
		dir, err := os.MkdirTemp("", "callboard-programs-") //nolint:usetesting // other tests use the programs too
		if err != nil {
			tb.Fatal(err)
		}
		Build(tb, root, dir, p.race, p.packages...)
		p.dir = dir
	}
	return filepath.Join(p.dir, name)
}

// Remove removes the binaries, after the last test.
func (p *Programs) Remove() error { return os.RemoveAll(p.dir) }

// Build builds the programs of packages of the module at source, and writes the binaries to dir.
func Build(tb testing.TB, source, dir string, race bool, packages ...string) {
	tb.Helper()
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)} // they link faster without debug information
	if race {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(tb.Context(), "go", append(args, packages...)...) //nolint:gosec // the test's own packages
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
}
