package fault_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"

	"callboard/events/eventstest"
)

//nolint:gochecknoglobals // flags are
var (
	soakFaults = flag.Int("soak", 0, "how many faults TestSoak injects; 0 skips it")
	seedFlag   = flag.Uint64("seed", 0, "the seed of faults and load; 0 draws one")
	kindsFlag  = flag.String("kinds", "", "a regular expression that selects kinds of faults; empty selects all")
)

func TestMain(m *testing.M) {
	if url := os.Getenv(natsURLVariable); url != "" {
		os.Exit(sendRequest(url, os.Args[1:]))
	}
	eventstest.RunAtOnce(4)
	log.Logger = zerolog.Nop() // one of the proxies' toxics logs there
	code := m.Run()
	if err := errors.Join(callboardPrograms.Remove(), natsProgram.Remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// After ten faults, tables are those of a system without faults, and clients have seen no wrong answer.
func TestFaults(t *testing.T) {
	run(t, runConfig{faults: 10, checkEvery: 10, kinds: *kindsFlag})
}

// The same after as many faults as -soak says, with a check after every 50.
func TestSoak(t *testing.T) {
	if *soakFaults == 0 {
		t.Skip("set -soak to the number of faults")
	}
	run(t, runConfig{faults: *soakFaults, checkEvery: 50, kinds: *kindsFlag, soak: true})
}

// A full disk stops writes and nothing else. A rebuild that filled it ends and drops what it built.
func TestDiskFull(t *testing.T) {
	run(t, runConfig{faults: 4, checkEvery: 4, kinds: "disk full"})
}

// seed returns the test's seed, which it logs.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := *seedFlag
	if n == 0 {
		n = rand.Uint64()
	}
	t.Logf("-seed %d", n)
	return n
}

// runConfig describes a run of faults.
type runConfig struct {
	faults     int
	checkEvery int    // faults between two checks
	kinds      string // a regular expression; empty selects all
	soak       bool   // some faults last longer than connections tolerate
}

// eventsAtFullRate is the number of events after which the load decays, so that checks of a long run stay short.
const eventsAtFullRate = 20_000

// run injects faults while events are published and clients read. It ends at the first failed check.
func run(t *testing.T, c runConfig) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	h := newHarness(t, seed(t), decaying(bursty, eventsAtFullRate))
	h.soak = c.soak
	clients := h.startClients()
	picker := kindPicker{random: h.random, kinds: h.kinds(regexp.MustCompile(c.kinds))}
	if len(picker.kinds) == 0 {
		t.Skip("no fault of these kinds can be injected on this machine")
	}
	number := 0
	for number < c.faults && !t.Failed() {
		number++
		h.inject(picker.next(), number)
		if number%c.checkEvery == 0 && number < c.faults {
			h.check(number)
		}
	}
	h.load.stop()
	clients.finish()
	h.check(number)
	h.checkNothingLeft(c.soak)
	h.logSummary()
}
