package eventstest

import (
	"flag"
	"fmt"
)

// RunAtOnce sets how many parallel tests of a package run at once, which the flag -parallel overrides. It is for packages whose tests mostly
// wait: for timeouts, elections or restarts. Their TestMain calls it before the tests run.
func RunAtOnce(count int) {
	if err := flag.Set("test.parallel", fmt.Sprint(count)); err != nil {
		panic(err)
	}
}
