//go:build linux

package load_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

//nolint:gochecknoglobals // flags are
var (
	readFlag     = flag.Bool("read", false, "compare pages of the reader with those of a bare server")
	writeFlag    = flag.Bool("write", false, "measure the projector and rebuilds beside bare upserts")
	webhooksFlag = flag.Bool("webhooks", false, "measure how soon and how fast webhooks are sent, and what they cost the projector")
	capacityFlag = flag.Bool("capacity", false, "measure what a sizing needs")
	loadFlag     = flag.Bool("load", false, "run the load tests")
	callsFlag    = flag.Int("calls", 60_000, "calls that are written or read")
	systemsFlag  = flag.Int("systems", 64, "phone systems that the calls are distributed to")
	roundsFlag   = flag.Int("rounds", 3, "rounds of which medians are printed")
	durationFlag = flag.Duration("duration", 10*time.Second, "of one measurement")
)

// childRole is an environment variable that makes the test binary run as a child process.
const childRole = "CALLBOARD_LOAD_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childRole) == bareRole {
		fmt.Fprintln(os.Stderr, serveBare())
		os.Exit(1)
	}
	code := m.Run()
	if err := programs.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func needLoad(tb testing.TB) {
	tb.Helper()
	if !*loadFlag {
		tb.Skip("run it with -load")
	}
}
