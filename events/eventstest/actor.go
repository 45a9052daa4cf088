package eventstest

import (
	"context"
	"sync"
	"testing"
)

// Run runs an actor until stop is called or the test ends. stop returns when the actor has returned; its error
// fails the test.
func Run(tb testing.TB, actor func(context.Context) error) (stop func()) {
	tb.Helper()
	// The test's context ends before the cleanups, but the actor runs until its own cleanup.
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- actor(ctx) }()

	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("run: %v", err)
		}
	})

	tb.Cleanup(stop)
	return stop
}
