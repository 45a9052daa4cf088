// Package leaks finds goroutines that are left over after a package's tests.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is far longer than the goroutines of closed connections and servers take to end, also on a busy machine.
const timeout = time.Minute

// Run runs a package's tests and exits; TestMain calls nothing else. If the tests have passed, no goroutine may be left over. The options say
// which ones may be.
func Run(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := Find(options...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find returns an error that has the stacks of the goroutines which have not ended within a minute. The options say which ones need not end.
func Find(options ...goleak.Option) (err error) {
	for deadline := time.Now().Add(timeout); ; {
		if err = goleak.Find(options...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
