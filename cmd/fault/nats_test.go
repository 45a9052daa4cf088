package fault_test

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// broker is a NATS server in a process of its own, whose store and port outlive it.
type broker struct {
	*program
	address string
	disk    *disk // of all that is stored; nil: it lies with all the rest
}

func newBroker(tb testing.TB, logs string) *broker {
	tb.Helper()
	port, programs, folder := freePort(tb), build(tb, false, "github.com/nats-io/nats-server/v2"), tb.TempDir()
	store := filepath.Join(folder, "store")
	b := &broker{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), program: &program{
		tb: tb, name: "nats", path: filepath.Join(programs, "nats-server"), logs: logs,
		args: []string{"-a", "127.0.0.1", "-p", strconv.Itoa(port), "-js", "-sd", store},
	}, disk: newDisk(tb, store, folder)}
	b.hold()
	b.start()
	return b
}

// start begins a life and returns once the server takes connections.
func (b *broker) start() {
	b.tb.Helper()
	b.program.start()
	dialer := net.Dialer{Timeout: time.Second}
	await(b.tb, "NATS takes connections", func() bool {
		b.mustRun()
		conn, err := dialer.DialContext(b.tb.Context(), "tcp", b.address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

// freePort is a port that nobody listens on.
func freePort(tb testing.TB) int {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// connect is a connection past all lines, for those who must know how things are.
func (b *broker) connect() jetstream.JetStream {
	b.tb.Helper()
	conn, err := nats.Connect("nats://"+b.address, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		b.tb.Fatal(err)
	}
	return js
}
