package eventstest

import (
	"testing"
	"time"
)

// timeout is far longer than any condition takes on a machine that does nothing else: a busy one must not fail a test.
const timeout = 3 * time.Minute

// Eventually waits until a check succeeds. The test fails if it does not within three minutes.
//
// The pause between two checks grows by a quarter from 5 to 600 ms. A check that is an API request makes fewer than
// 120 requests in a minute, so it does not use up the budget of its key.
func Eventually(tb testing.TB, what string, check func() bool) {
	tb.Helper()
	EventuallyWithin(tb, timeout, what, check)
}

// EventuallyWithin is [Eventually] with another time limit.
func EventuallyWithin(tb testing.TB, limit time.Duration, what string, check func() bool) {
	tb.Helper()
	deadline := time.Now().Add(limit)
	for pause := 5 * time.Millisecond; !check(); pause = min(pause*5/4, 600*time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("condition not met within %s: %s", limit, what)
		}
		<-time.After(pause)
	}
}
