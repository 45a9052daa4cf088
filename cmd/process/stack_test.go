package process_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"callboard/cmd/process"
)

// diary notes what happens in which order.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) note(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

// actor runs until it is asked to stop, and is slower to end than whoever is below.
func (d *diary) actor(name string, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		d.note(name)
		return err
	}
}

func TestStack_StopsFromTheTop(t *testing.T) {
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	stack, running := process.NewStack(ctx)
	for _, name := range []string{"bottom", "middle", "top"} {
		stack.Go(running, name, d.actor(name, nil))
	}
	cancel()
	if err := stack.Wait(running); err != nil {
		t.Errorf("%v", err)
	}
	if !slices.Equal(d.entries, []string{"top", "middle", "bottom"}) {
		t.Errorf("%v", d.entries)
	}
}

func TestStack_OneFails(t *testing.T) {
	var d diary
	broken := errors.New("broken")
	stack, running := process.NewStack(t.Context())
	stack.Go(running, "bottom", d.actor("bottom", nil))
	stack.Go(running, "middle", func(context.Context) error { return broken })
	stack.Go(running, "top", d.actor("top", nil))
	if err := stack.Wait(running); !errors.Is(err, broken) || err.Error() != "middle: broken" {
		t.Errorf("%v", err)
	}
	if !slices.Equal(d.entries, []string{"top", "bottom"}) {
		t.Errorf("%v", d.entries)
	}
}

func TestStack_OneEndsTooSoon(t *testing.T) {
	stack, running := process.NewStack(t.Context())
	stack.Go(running, "actor", func(context.Context) error { return nil })
	if err := stack.Wait(running); err == nil || err.Error() != "actor: ended by itself" {
		t.Errorf("%v", err)
	}
}

func TestStack_Empty(t *testing.T) {
	stack, _ := process.NewStack(t.Context())
	if err := stack.Stop(); err != nil {
		t.Errorf("%v", err)
	}
}
