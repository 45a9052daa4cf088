package eventstest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leakTimeout is far longer than the goroutines of closed connections and servers take to end, also on a busy machine.
const leakTimeout = time.Minute

// RunAndFindLeaks runs a package's tests and exits; TestMain calls nothing else. If the tests have passed, no
// goroutine may be left over. The options say which ones may be.
func RunAndFindLeaks(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := FindLeaks(options...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// FindLeaks returns an error that has the stacks of the goroutines which have not ended within a minute. The
// options say which ones need not end.
func FindLeaks(options ...goleak.Option) (err error) {
	for deadline := time.Now().Add(leakTimeout); ; {
		if err = goleak.Find(options...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
