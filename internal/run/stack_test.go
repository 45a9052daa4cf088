package run_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"callboard/internal/run"
)

// recorder records the order in which actors stop.
type recorder struct {
	mu    sync.Mutex
	names []string
}

func (d *recorder) record(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = append(d.names, name)
}

// actor runs until it is asked to stop.
func (d *recorder) actor(name string, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		d.record(name)
		return err
	}
}

func TestStack_StopsInReverseOrder(t *testing.T) {
	var d recorder
	ctx, cancel := context.WithCancel(t.Context())
	stack, running := run.NewStack(ctx)
	for _, name := range []string{"bottom", "middle", "top"} {
		stack.Go(running, name, d.actor(name, nil))
	}
	cancel()
	if err := stack.Wait(running); err != nil {
		t.Errorf("Wait: error = %v, want none", err)
	}
	if want := []string{"top", "middle", "bottom"}; !slices.Equal(d.names, want) {
		t.Errorf("order = %v, want %v", d.names, want)
	}
}

func TestStack_ActorFails(t *testing.T) {
	var d recorder
	broken := errors.New("broken")
	stack, running := run.NewStack(t.Context())
	stack.Go(running, "bottom", d.actor("bottom", nil))
	stack.Go(running, "middle", func(context.Context) error { return broken })
	stack.Go(running, "top", d.actor("top", nil))
	if err := stack.Wait(running); !errors.Is(err, broken) || err.Error() != "middle: broken" {
		t.Errorf("error = %v, want middle: broken", err)
	}
	if want := []string{"top", "bottom"}; !slices.Equal(d.names, want) {
		t.Errorf("order = %v, want %v", d.names, want)
	}
}

func TestStack_ActorStopsUnexpectedly(t *testing.T) {
	stack, running := run.NewStack(t.Context())
	stack.Go(running, "actor", func(context.Context) error { return nil })
	if err := stack.Wait(running); err == nil || err.Error() != "actor: stopped unexpectedly" {
		t.Errorf("error = %v, want actor: stopped unexpectedly", err)
	}
}

func TestStack_Empty(t *testing.T) {
	stack, _ := run.NewStack(t.Context())
	if err := stack.Stop(); err != nil {
		t.Errorf("Stop: error = %v, want none", err)
	}
}
