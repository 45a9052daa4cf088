package wallclock

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"callboard/events/eventstest"
)

// Cluster is NATS servers that form a cluster.
type Cluster []*Server

// NewCluster starts a server for each clock, by how much it is ahead of the machine's, and waits until they accept requests to JetStream.
func NewCluster(tb testing.TB, clocks ...time.Duration) Cluster {
	tb.Helper()
	routes := make([]string, len(clocks))
	for i := range routes {
		routes[i] = "nats://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(eventstest.FreePort(tb)))
	}
	var c Cluster
	for i, ahead := range clocks {
		name := "server" + strconv.Itoa(i)
		s := newServer(tb, ahead, "-n", name, "--cluster_name", "test", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
		s.name = name
		s.Start()
		c = append(c, s)
	}
	for _, s := range c {
		s.awaitConnections()
	}
	js := eventstest.JetStream(tb, c.URL())
	eventstest.Eventually(tb, "the cluster has a leader", func() bool {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		_, err := js.AccountInfo(ctx)
		return err == nil
	})
	return c
}

// URL returns the URL of all servers for clients.
func (c Cluster) URL() string {
	urls := make([]string, len(c))
	for i, s := range c {
		urls[i] = s.URL()
	}
	return strings.Join(urls, ",")
}
