package eventstest

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

const (
	lowestPort    = 20_000
	portsPerBlock = 200
	portBlocks    = 40
)

// portBlock is the process's block of ports. Each process of a user has other blocks, so that none takes the port of a server that another
// process's test has stopped.
type portBlock struct {
	mu        sync.Mutex
	file      *os.File // with a lock on the byte of each block; open until the process ends, which unlocks it
	next, end int
	number    int // of the next block to be tried
}

//nolint:gochecknoglobals // tests of this process never get the same port twice
var ports portBlock

// take returns the next port.
func (b *portBlock) take() (port int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == b.end {
		if err := b.claim(); err != nil {
			return 0, fmt.Errorf("block of ports: %w", err)
		}
	}
	b.next++
	return b.next - 1, nil
}

// claim locks a block that no other process has.
func (b *portBlock) claim() (err error) {
	if b.file == nil {
		name := filepath.Join(os.TempDir(), "callboard-test-ports-"+strconv.Itoa(os.Getuid()))
		if b.file, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600); err != nil { //nolint:gosec // a fixed name
			return err
		}
	}
	for err = syscall.EAGAIN; b.number < portBlocks; {
		lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: int64(b.number), Len: 1}
		err = syscall.FcntlFlock(b.file.Fd(), syscall.F_SETLK, &lock)
		b.next = lowestPort + b.number*portsPerBlock
		b.number++
		if err == nil {
			b.end = b.next + portsPerBlock
			return nil
		}
	}
	b.next = b.end
	return err
}

// FreePort returns a port on which no process listens. It is below the ports that PostgreSQL servers of package cluster have, and below the
// range that the kernel gives to outgoing connections: none of these takes the port while the test's server is down.
func FreePort(tb testing.TB) int {
	tb.Helper()
	for {
		port, err := ports.take()
		if err != nil {
			tb.Fatal(err)
		}
		if isFree(tb, port) {
			return port
		}
	}
}

// isFree reports whether a process can listen on a port. No process is started meanwhile: until it runs its own program, it would have a copy of
// the listener, which keeps the port.
func isFree(tb testing.TB, port int) bool {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return err == nil && listener.Close() == nil
}
