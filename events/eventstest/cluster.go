package eventstest

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster is three NATS servers with JetStream that form a cluster.
type Cluster []*Server

// NewCluster starts the servers, named server0 to server2, and waits until they accept requests to JetStream. They
// stop when the test ends.
func NewCluster(tb testing.TB) Cluster {
	tb.Helper()
	return NewRoutedCluster(tb, "", func(_, _ int, address string) string { return address })
}

// Nowhere is an address at which nothing listens.
const Nowhere = "127.0.0.1:1"

// NewRoutedCluster is [NewCluster] with other routes. A server connects to each one before it at the address that
// route returns for that one's own. advertised is the address that servers tell each other; empty: their own.
func NewRoutedCluster(tb testing.TB, advertised string, route func(from, to int, address string) string) Cluster {
	tb.Helper()
	var c Cluster
	for i := range 3 {
		// JetStream refuses to start in a cluster without a route, so the first server has one that leads nowhere.
		routes := []*url.URL{{Scheme: "nats", Host: Nowhere}}
		for to, s := range c {
			address := "127.0.0.1:" + strconv.Itoa(s.options.Cluster.Port)
			routes = append(routes, &url.URL{Scheme: "nats", Host: route(i, to, address)})
		}

		s := NewServer(tb, func(o *server.Options) {
			o.ServerName = fmt.Sprintf("server%d", i)
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: FreePort(tb), Advertise: advertised}
			o.Routes = routes
		})
		Eventually(tb, "the server listens for routes", func() bool { return s.running.ClusterAddr() != nil })

		// Each server has routes to the servers before it. It learns of the later servers from their routes to it.
		c = append(c, s)
	}

	// A request that no leader answers waits for its timeout, so none is made before.
	Eventually(tb, "all servers follow a leader", func() bool {
		leaders := 0
		for _, s := range c {
			if s.running.JetStreamIsLeader() {
				leaders++
			} else if !s.running.JetStreamIsCurrent() {
				return false
			}
		}

		return leaders == 1
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

// Server returns the server with a name.
func (c Cluster) Server(name string) *Server {
	return c[slices.IndexFunc(c, func(s *Server) bool { return s.options.ServerName == name })]
}
