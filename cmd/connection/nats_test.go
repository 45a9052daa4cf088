package connection

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"callboard/cmd/setting"
	"callboard/events/eventstest"
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
	s := eventstest.NewServer(t)
	n, err := NewNATS(NATSConfig{URL: natsURL(t, s.URL()), Name: "test", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Err(); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := n.JetStream.AccountInfo(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
	n.Close()
	if n.Err() == nil {
		t.Error("usable after its end")
	}
}

func TestNewNATS_Absent(t *testing.T) {
	const nobody = "nats://me:hunter2@127.0.0.1:1"
	_, err := NewNATS(NATSConfig{URL: natsURL(t, nobody), Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "NATS at nats://127.0.0.1:1") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	patient, err := NewNATS(NATSConfig{URL: natsURL(t, nobody), RetryConnect: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if patient.Err() == nil {
		t.Error("connected to nobody")
	}
	patient.Close()
}

// A server that is away for longer than the library's own patience of sixty tries is found again.
func TestNewNATS_ServerComesBack(t *testing.T) {
	var log strings.Builder
	s := eventstest.NewServer(t, func(o *server.Options) { o.Authorization = "hunter2" })
	url := natsURL(t, strings.Replace(s.URL(), "nats://", "nats://hunter2@", 1))
	n, err := NewNATS(NATSConfig{URL: url, Log: zerolog.New(zerolog.SyncWriter(&log))})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	eventually(t, func() bool { return n.Err() != nil })
	s.Start()
	eventually(t, func() bool { return n.Err() == nil })
	n.Close()
	if !strings.Contains(log.String(), "reconnected to nats") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("%s", &log)
	}
}

// The library's own patience with a server that refuses its credentials is two tries.
func TestNewNATS_CredentialsComeBack(t *testing.T) {
	var options *server.Options
	s := eventstest.NewServer(t, func(o *server.Options) { options = o })
	proxy := eventstest.NewProxy(t, s.URL())
	password := func(p string) {
		s.Stop()
		options.Authorization = p
		s.Start()
	}
	password("changed")
	n, err := NewNATS(NATSConfig{URL: natsURL(t, "nats://hunter2@"+proxy.Addr()), RetryConnect: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	calledAgain(t, proxy)
	password("hunter2")
	eventually(t, func() bool { return n.Err() == nil })
	password("changed")
	calledAgain(t, proxy)
	password("hunter2")
	eventually(t, func() bool { return n.Err() == nil })
}

// calledAgain waits until the server was called some times more.
func calledAgain(t *testing.T, proxy *eventstest.Proxy) {
	t.Helper()
	before := proxy.Connections()
	eventually(t, func() bool { return proxy.Connections() >= before+3 })
}

// A host that vanished answers no ping and takes no bytes, and closes nothing.
func TestNewNATS_SilentServer(t *testing.T) {
	for name, busy := range map[string]bool{"an idle connection": false, "a busy one": true} {
		t.Run(name, func(t *testing.T) {
			proxy := eventstest.NewProxy(t, eventstest.NewServer(t).URL())
			n, err := NewNATS(NATSConfig{
				URL: natsURL(t, "nats://"+proxy.Addr()), Log: zerolog.Nop(), silence: 200 * time.Millisecond,
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
			case <-time.After(patience):
				t.Error("nobody noticed")
			}
			resume()
			filling.Wait()
			eventually(t, func() bool { return n.Err() == nil })
		})
	}
}

// fill writes more than the buffers between two ends take.
func fill(conn *nats.Conn) {
	for range 64 {
		_ = conn.Publish("elsewhere", make([]byte, 1<<19)) // fails where the connection is lost
	}
}

// patience is how long a test waits for what must happen, on a machine busy with other tests.
const patience = 30 * time.Second

// eventually polls until a condition holds.
func eventually(tb testing.TB, holds func() bool) {
	tb.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			tb.Fatal("it never came true")
		case <-tick.C:
		}
	}
}
