package connection

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"callboard/events/eventstest"
	"callboard/internal/run/setting"
)

func natsURL(tb testing.TB, text string) setting.URL {
	tb.Helper()
	url, err := setting.NewNATSURL(text)
	if err != nil {
		tb.Fatal(err)
	}
	return url
}

func TestNewNATS(t *testing.T) {
	t.Parallel()
	s := eventstest.NewServer(t)
	n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, s.URL())}, Name: "test", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Err(); err != nil {
		t.Errorf("Err = %v, want none", err)
	}
	if _, err := n.JetStream.AccountInfo(t.Context()); err != nil {
		t.Errorf("account info: error = %v, want none", err)
	}
	n.Close()
	if n.Err() == nil {
		t.Error("Err after Close = nil, want an error")
	}
}

func TestNewNATS_NoServer(t *testing.T) {
	t.Parallel()
	const unused = "nats://me:hunter2@127.0.0.1:1"
	_, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, unused)}, Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "NATS at nats://127.0.0.1:1") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error = %v, want the server without its password", err)
	}
	retrying, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, unused)}, RetryConnect: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if retrying.Err() == nil {
		t.Error("Err without a server = nil, want an error")
	}
	retrying.Close()
}

func TestNewNATS_ServerRestarts(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := eventstest.NewServer(t, func(o *server.Options) { o.Authorization = "hunter2" })
	url := natsURL(t, strings.Replace(s.URL(), "nats://", "nats://hunter2@", 1))
	n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: url}, Log: zerolog.New(zerolog.SyncWriter(&log))})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	eventstest.Eventually(t, "the connection is lost", func() bool { return n.Err() != nil })
	s.Start()
	eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
	n.Close()
	if !strings.Contains(log.String(), "reconnected to nats") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("log = %s, want a reconnection and no token", &log)
	}
}

// By default the client gives up after a server has refused its credentials twice.
func TestNewNATS_CredentialsRefusedForATime(t *testing.T) {
	t.Parallel()
	var options *server.Options
	s := eventstest.NewServer(t, func(o *server.Options) { options = o })
	proxy := eventstest.NewProxy(t, s.URL())
	password := func(p string) {
		s.Stop()
		options.Authorization = p
		s.Start()
	}
	password("changed")
	n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, "nats://hunter2@"+proxy.Addr())}, RetryConnect: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	waitForConnections(t, proxy)
	password("hunter2")
	eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
	password("changed")
	waitForConnections(t, proxy)
	password("hunter2")
	eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
}

// waitForConnections waits for three more connection attempts.
func waitForConnections(t *testing.T, proxy *eventstest.Proxy) {
	t.Helper()
	before := proxy.Connections()
	eventstest.Eventually(t, "three more connection attempts", func() bool { return proxy.Connections() >= before+3 })
}

// A host that has disappeared sends no pong, accepts no bytes and closes no connection.
func TestNewNATS_UnresponsiveServer(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"idle connection": false, "busy connection": true} {
		t.Run(name, func(t *testing.T) {
			proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
			n, err := NewNATS(NATSConfig{
				NATS: setting.NATS{URL: natsURL(t, "nats://"+proxy.Addr())}, Log: zerolog.Nop(), maxSilence: 200 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(n.Close)
			lost := n.conn.StatusChanged(nats.RECONNECTING)
			resume := proxy.Pause()
			var filling sync.WaitGroup
			if busy {
				filling.Go(func() { fill(n.conn) })
			}
			select {
			case <-lost:
			case <-time.After(time.Minute):
				t.Error("the connection is not reported as lost")
			}
			resume()
			filling.Wait()
			eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
		})
	}
}

// What was published while the connection was lost takes longer to write to the new connection than a write may take.
func TestNewNATS_WriteFailsAtReconnection(t *testing.T) {
	t.Parallel()
	proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
	n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, "nats://"+proxy.Addr())}, Log: zerolog.Nop(), maxSilence: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	lost := n.conn.StatusChanged(nats.RECONNECTING)
	resume := proxy.Pause()
	<-lost
	fill(n.conn)
	resume()
	eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
}

// fill writes more than the buffers of both ends hold.
func fill(conn *nats.Conn) {
	for range 64 {
		_ = conn.Publish("elsewhere", make([]byte, 1<<19)) // fails when the connection is lost
	}
}

// An interactive connection buffers nothing while it is lost: nobody would wait for the reply.
func TestNewNATS_Interactive(t *testing.T) {
	t.Parallel()
	s := eventstest.NewServer(t)
	for _, interactive := range []bool{false, true} {
		n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, s.URL())}, Interactive: interactive, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		s.Stop()
		eventstest.Eventually(t, "the connection is lost", func() bool { return n.Err() != nil })
		if err := n.conn.Publish("elsewhere", nil); (err != nil) != interactive {
			t.Errorf("interactive = %t: error = %v", interactive, err)
		}
		s.Start()
		eventstest.Eventually(t, "the connection is back", func() bool { return n.Err() == nil })
		n.Close()
	}
}

// The server closes the connection of a client that sends a longer line than it reads, and the client does not connect
// again.
func TestNATS_Run_ConnectionClosedByServer(t *testing.T) {
	t.Parallel()
	n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, eventstest.NewServer(t).URL())}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	if err := n.conn.Publish(strings.Repeat("x", 5000), nil); err != nil {
		t.Fatal(err)
	}

	err = n.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not open it again: nats: maximum control line exceeded; restart the program") {
		t.Errorf("Run = %v, want an error that names the cause and says to restart the program", err)
	}
}

func TestNATS_Run_Stopped(t *testing.T) {
	t.Parallel()
	n, err := NewNATS(NATSConfig{NATS: setting.NATS{URL: natsURL(t, eventstest.NewServer(t).URL())}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := n.Run(stopped); err != nil {
		t.Errorf("Run = %v, want no error", err)
	}
	if !n.conn.IsClosed() {
		t.Error("the connection is open, want it closed")
	}
}
