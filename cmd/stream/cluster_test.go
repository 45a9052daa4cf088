package stream_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"callboard/cmd/stream"
	"callboard/events/eventstest"
	"callboard/readapi/limit"
)

// patience is how long a test waits for what must happen, on a machine busy with other tests.
const patience = time.Minute

// cluster is three servers by their names.
type cluster map[string]*server.Server

// newCluster starts the servers. They are stopped when the test ends.
func newCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{}
	var routes []*url.URL
	for len(c) < 3 {
		o := &server.Options{
			ServerName: fmt.Sprintf("server%d", len(c)), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: freePort(t)},
		}
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", o.Cluster.Port)})
		o.Routes = routes // the others find each other through the first
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		c[o.ServerName] = s
		go s.Start()
		t.Cleanup(func() { c.stop(o.ServerName) })
	}
	for name, s := range c {
		if !s.ReadyForConnections(patience) {
			t.Fatalf("%s is not ready", name)
		}
	}
	return c
}

func (c cluster) stop(name string) {
	c[name].Shutdown()
	c[name].WaitForShutdown()
}

func (c cluster) url() string {
	var urls []string
	for _, s := range c {
		urls = append(urls, s.ClientURL())
	}
	return strings.Join(urls, ",")
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not %s after %s", what, patience)
		case <-tick.C:
		}
	}
}

// reader asks for reports as readers do.
func reader(t *testing.T, js jetstream.JetStream) func() bool {
	t.Helper()
	l, err := limit.New(limit.Config{
		JetStream: js, Report: limit.ReportPerMinute, Standard: limit.StandardPerMinute, Premium: 600, Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() bool { return l.Take(t.Context(), limit.Request{Lineage: uuid.New(), Report: "report"}).Allowed }
}

// With three replicas of the limiter's streams, reports outlive a server.
func TestCreate_InACluster(t *testing.T) {
	servers := newCluster(t)
	js := eventstest.JetStream(t, servers.url())
	wanted := stream.Wanted{Name: "PHONES", Partitions: 4, Replicas: 3, Premium: 600}
	eventually(t, "with a leader", func() bool {
		_, err := js.AccountInfo(t.Context())
		return err == nil
	})
	byReader, err := limit.StreamConfigs(600, 1)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "made by a reader", func() bool {
		_, err := js.CreateStream(t.Context(), byReader[1])
		return err == nil
	})
	eventually(t, "made", func() bool {
		made, err := stream.Create(t.Context(), js, wanted)
		return err == nil && !made.Limits["LIMITS_600_120"]
	})
	says(t, js, "LIMITS_600_120 is on fewer servers than PHONES, 1 and not 3")
	more := byReader[1]
	more.Replicas = 3
	eventually(t, "on three servers", func() bool {
		_, err := js.UpdateStream(t.Context(), more)
		return err == nil
	})
	eventually(t, "without faults", func() bool {
		faults, err := stream.Check(t.Context(), js, "PHONES", 600)
		return err == nil && len(faults) == 0
	})
	report := reader(t, js)
	eventually(t, "given", report)
	servers.stop(leader(t, js, "LIMITS_120_120"))
	eventually(t, "given with a server less", report)
}

// leader is the server without which a stream of one replica is away.
func leader(t *testing.T, js jetstream.JetStream, name string) string {
	t.Helper()
	running, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return running.CachedInfo().Cluster.Leader
}
