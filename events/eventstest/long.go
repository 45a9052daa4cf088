package eventstest

import (
	"os"
	"testing"
)

// longVariable is set where long tests are wanted.
const longVariable = "CALLBOARD_TEST_LONG"

// LongWanted tells whether long tests are wanted.
func LongWanted() bool { return os.Getenv(longVariable) != "" }

// Long skips a test that takes most of a minute or starts other programs, unless long tests are wanted.
func Long(tb testing.TB) {
	tb.Helper()
	if !LongWanted() {
		tb.Skip("it takes most of a minute or starts other programs: set " + longVariable +
			"=1, as 'make test/e2e' and 'make soak' do")
	}
}
