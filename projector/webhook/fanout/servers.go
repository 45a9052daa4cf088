package fanout

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// resolve brings the servers to the addresses that the databases' names have now. What can't be looked up stays as it is.
func (g *Gate) resolve(ctx context.Context) {
	if time.Now().Before(g.next) {
		return
	}
	g.next = time.Now().Add(resolveInterval)
	databases, err := g.config.Databases()
	if err != nil {
		g.config.Log.Error().Err(err).Msg("reading the readers' databases failed")
		return
	}
	var list []*server
	for _, config := range databases {
		for _, h := range hosts(config) {
			list = append(list, g.serversOf(ctx, config, h)...)
		}
	}
	for _, old := range g.servers {
		if !slices.Contains(list, old) {
			g.retire(old)
		}
	}
	g.servers, g.known = list, true
}

// retire closes a server that was removed, once its last query has ended.
func (g *Gate) retire(s *server) {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	g.asking.Go(func() {
		if done != nil {
			<-done
		}
		s.close()
	})
}

// host is one host of a URL, with the ways to connect to it: with TLS and without, where sslmode allows both.
type host struct {
	name string
	port uint16
	ways []*pgconn.FallbackConfig
}

func hosts(config *pgx.ConnConfig) (list []host) {
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, w := range ways {
		i := slices.IndexFunc(list, func(h host) bool { return h.name == w.Host && h.port == w.Port })
		if i < 0 {
			list, i = append(list, host{name: w.Host, port: w.Port}), len(list)
		}
		list[i].ways = append(list[i].ways, w)
	}
	return list
}

// serversOf returns the servers of a host, one for each address. A server that is known stays the same. A proxy of connections can have
// several databases, and lead users to different servers.
func (g *Gate) serversOf(ctx context.Context, config *pgx.ConnConfig, h host) (list []*server) {
	prefix := fmt.Sprintf("%s %q %q ", net.JoinHostPort(h.name, strconv.Itoa(int(h.port))), config.Database, config.User)
	addresses, err := addresses(ctx, h.name)
	if err != nil {
		g.config.Log.Warn().Err(err).Str("host", h.name).Msg("looking up a reader's database failed")
		if known := slices.DeleteFunc(slices.Clone(g.servers), func(s *server) bool { return !strings.HasPrefix(s.name, prefix) }); len(known) > 0 {
			return known
		}
		addresses = []string{h.name} // the query fails, and holds notices
	}
	for _, address := range addresses {
		name := prefix + address
		if i := slices.IndexFunc(g.servers, func(s *server) bool { return s.name == name }); i >= 0 {
			known := g.servers[i]
			known.mu.Lock()
			known.config = configForAddress(config, h, address) // the password may be another
			known.mu.Unlock()
			list = append(list, known)
			continue
		}
		list = append(list, &server{name: name, config: configForAddress(config, h, address)})
	}
	return list
}

// addresses returns the addresses of a host. A socket path or an IP address is returned unchanged.
func addresses(ctx context.Context, host string) ([]string, error) {
	if strings.HasPrefix(host, "/") || net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return net.DefaultResolver.LookupHost(ctx, host)
}

// configForAddress returns the configuration that connects to one address of a host, whatever the server is: primary or standby.
func configForAddress(config *pgx.ConnConfig, h host, address string) *pgx.ConnConfig {
	c := config.Copy()
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = h.name, h.port, h.ways[0].TLSConfig, h.ways[1:]
	c.ValidateConnect = nil
	if !strings.HasPrefix(h.name, "/") {
		c.LookupFunc = func(context.Context, string) ([]string, error) { return []string{address}, nil }
	}
	return c
}
