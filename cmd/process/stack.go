package process

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Stack runs a program's actors, each of which needs those started before it. They are stopped in the reverse order, each
// once the one above it has ended.
type Stack struct {
	group  *errgroup.Group
	actors []actor
}

type actor struct {
	stop context.CancelFunc
	done chan struct{}
}

// NewStack is a stack without actors, and a context that ends when ctx does or any of its actors has ended.
func NewStack(ctx context.Context) (*Stack, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &Stack{group: group}, ctx
}

// errEarly is an actor that returned although nobody asked it to.
var errEarly = errors.New("ended by itself")

// Go starts an actor. run returns nil soon after its context has ended; should it return before, the whole stack ends. Of ctx
// only the values reach the actor, since its turn to stop may come later.
func (s *Stack) Go(ctx context.Context, name string, run func(context.Context) error) {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := actor{stop: stop, done: make(chan struct{})}
	s.actors = append(s.actors, a)
	s.group.Go(func() error {
		defer close(a.done)
		err := run(own)
		if err == nil && own.Err() == nil {
			err = errEarly
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// Stop ends the actors from the top and returns the first error that any of them met.
func (s *Stack) Stop() error {
	for _, a := range slices.Backward(s.actors) {
		a.stop()
		<-a.done
	}
	return s.group.Wait()
}

// Wait waits for the end of the context that [NewStack] returned, then stops the actors.
func (s *Stack) Wait(ctx context.Context) error {
	<-ctx.Done()
	return s.Stop()
}
