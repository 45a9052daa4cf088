package eventstest

import (
	"testing"
	"time"
)

// Eventually polls until check returns true. After a minute it fails the test. what names the condition, such as "partition 3 at
// sequence 17".
func Eventually(tb testing.TB, what string, check func() bool) {
	tb.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !check() {
		if time.Now().After(deadline) {
			tb.Fatalf("condition not met within a minute: %s", what)
		}
		<-tick.C
	}
}
