package eventstest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
)

// FreePort returns a port on which no process listens, and which no other test gets before this one ends. It is
// below the ports that PostgreSQL servers of package cluster have, and below the range that the kernel gives to
// outgoing connections: none of these takes the port while the test's server is down.
func FreePort(tb testing.TB) int {
	tb.Helper()
	config := new(net.ListenConfig)
	for range 1000 {
		port := 20_000 + rand.IntN(8_000)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))

		// A UDP socket with the same number keeps other tests from the port.
		reserved, err := config.ListenPacket(tb.Context(), "udp", address)
		if err != nil {
			continue
		}

		// No process is started meanwhile: until it runs its own program, it would have a copy of the listener, which
		// keeps the port.
		syscall.ForkLock.RLock()
		listener, err := config.Listen(tb.Context(), "tcp", address)
		free := err == nil && listener.Close() == nil
		syscall.ForkLock.RUnlock()

		if free {
			tb.Cleanup(func() { _ = reserved.Close() })
			return port
		}

		_ = reserved.Close()
	}

	tb.Fatal("no port below 28,000 is free")
	return 0
}
