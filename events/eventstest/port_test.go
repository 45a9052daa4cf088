package eventstest

import (
	"context"
	"net"
	"os/exec"
	"strings"
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
	run := func(ctx context.Context) error { return exec.CommandContext(ctx, "true").Run() }
	if err := run(t.Context()); err != nil { // before its first process, Go forks once without the lock
		t.Fatal(err)
	}
	port := FreePort(t)
	for range 2 {
		Run(t, func(ctx context.Context) error {
			for ctx.Err() == nil {
				if err := run(ctx); err != nil && ctx.Err() == nil {
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

// A server is started again when its port is free.
func TestServer_PortTakenForATime(t *testing.T) {
	s := NewServer(t)
	s.Stop()
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", strings.TrimPrefix(s.URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	if s.startOnce() {
		t.Error("the server listens beside another listener, want that it does not")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	s.Start()
	Connect(t, s.URL())
}
