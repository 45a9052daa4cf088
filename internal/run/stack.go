package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Stack runs a program's actors. Each may depend on earlier ones, so they are stopped in the reverse order, one
// after the other.
type Stack struct {
	group  *errgroup.Group
	actors []actor
}

type actor struct {
	stop context.CancelFunc
	done chan struct{}
}

// NewStack returns a stack without actors, and a context that ends when ctx or any of its actors ends.
func NewStack(ctx context.Context) (*Stack, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &Stack{group: group}, ctx
}

// errStopped is the error of an actor that returned nil before it was asked to stop.
var errStopped = errors.New("stopped unexpectedly")

// Go starts an actor. run must return nil soon after its context ends. If it returns earlier, the whole stack stops.
// The actor's context has the values of ctx but not its end, since the actors above it stop first.
func (s *Stack) Go(ctx context.Context, name string, run func(context.Context) error) {
	actorCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := actor{stop: stop, done: make(chan struct{})}
	s.actors = append(s.actors, a)

	s.group.Go(func() error {
		defer close(a.done)
		err := run(actorCtx)
		// Only an error stops the other actors, so the early end of an actor becomes an error.
		if err == nil && actorCtx.Err() == nil {
			err = errStopped
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// Stop stops the actors, the last one first, and returns the first error of any of them.
func (s *Stack) Stop() error {
	for _, a := range slices.Backward(s.actors) {
		a.stop()
		<-a.done
	}
	return s.group.Wait()
}

// Wait waits until the context that [NewStack] returned ends, then stops the actors.
func (s *Stack) Wait(ctx context.Context) error {
	<-ctx.Done()
	return s.Stop()
}
