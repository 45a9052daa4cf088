package eventstest

import (
	"flag"
	"strconv"
)

// RunAtOnce sets how many parallel tests of a package run at once, which the flag -parallel overrides. It is for
// packages whose tests mostly wait: for timeouts, elections or restarts. Their TestMain calls it before the tests
// run.
func RunAtOnce(count int) { setDefault("test.parallel", count) }

// CheckCases sets how many cases a package's properties have, which the flag -rapid.checks overrides. It is for
// properties whose cases write to a database; 'make properties' tests more of them. TestMain calls it before the
// tests run.
func CheckCases(count int) { setDefault("rapid.checks", count) }

// setDefault sets a flag before the command line is read.
func setDefault(name string, value int) {
	if err := flag.Set(name, strconv.Itoa(value)); err != nil {
		panic(err)
	}
}
