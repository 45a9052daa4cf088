package fault_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
)

func TestMain(m *testing.M) {
	log.Logger = zerolog.Nop() // which one of the toxics uses
	m.Run()
}

//nolint:gochecknoglobals // flags are
var (
	soakFaults = flag.Int("soak", 0, "how many faults TestSoak injects; 0: it is skipped")
	givenSeed  = flag.Uint64("seed", 0, "what faults and load are drawn from; 0: another one each time")
	wanted     = flag.String("kinds", "", "a regular expression of the kinds of faults that are drawn; empty: all")
)

// Ten faults, and everything is as if there had been none.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	run(t, plan{faults: 10, each: 10, kinds: *wanted})
}

// As many faults as are asked for, with a verdict now and then and figures in the end.
func TestSoak(t *testing.T) {
	if *soakFaults == 0 {
		t.Skip("it is for -soak")
	}
	run(t, plan{faults: *soakFaults, each: 50, kinds: *wanted, long: true})
}

// A full disk stops commits and nothing else, and ends the rebuild that has filled it.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	run(t, plan{faults: 4, each: 4, kinds: "disk full"})
}

// drawn is the seed of a test, which it prints.
func drawn(t *testing.T) uint64 {
	t.Helper()
	seed := *givenSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	return seed
}

// enough events are as many as a long run needs.
const enough = 20_000

// plan is how a run is to be.
type plan struct {
	faults int
	each   int    // faults until the next verdict
	kinds  string // a regular expression; empty: all
	long   bool   // some of what lasts does so until everybody has noticed
}

// run injects faults while events come and clients read. It ends early where something is wrong.
func run(t *testing.T, p plan) {
	t.Helper()
	s := newStage(t, drawn(t), tiring(stroll, enough))
	s.long = p.long
	clients := s.attend()
	deck := deck{dice: s.dice, kinds: s.kinds(regexp.MustCompile(p.kinds))}
	if len(deck.kinds) == 0 {
		t.Skip("there is no such fault here")
	}
	number := 0
	for number < p.faults && !t.Failed() {
		number++
		s.suffer(deck.draw(), number)
		if number%p.each == 0 && number < p.faults {
			s.judge(number, false)
		}
	}
	s.feed.stop()
	clients.leave()
	s.judge(number, true)
	s.leavesNothing(p.long)
	s.report()
}
