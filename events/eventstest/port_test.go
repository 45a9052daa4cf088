package eventstest

import (
	"context"
	"os/exec"
	"testing"
)

func TestFreePort_ReturnsEachPortOnce(t *testing.T) {
	seen := map[int]bool{}
	for range portsPerBlock + portsPerBlock/2 {
		port := FreePort(t)
		if seen[port] {
			t.Errorf("port %d was returned twice", port)
		}
		seen[port] = true
	}
}

// A port is free again at once, although other goroutines start processes.
func TestFreePort_BesideForks(t *testing.T) {
	port := FreePort(t)
	for range 2 {
		Run(t, func(ctx context.Context) error {
			for ctx.Err() == nil {
				if err := exec.CommandContext(ctx, "true").Run(); err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	for n := range 1000 {
		if !isFree(t, port) {
			t.Fatalf("attempt %d: the port is taken, want it free", n)
		}
	}
}
