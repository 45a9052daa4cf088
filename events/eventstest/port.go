package eventstest

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

//nolint:gochecknoglobals // tests of this process never get the same port twice
var portsTried atomic.Int64

// FreePort returns a port on which no process listens. It is below the range of ports that the kernel gives to outgoing connections: none
// of them takes the port while the test's server is down.
func FreePort(tb testing.TB) int {
	tb.Helper()
	const lowest, ports = 20_000, 12_000
	for {
		port := lowest + (16*os.Getpid()+int(portsTried.Add(1)))%ports
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
}
