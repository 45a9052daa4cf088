package sender

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"
)

const (
	// queryTimeout limits the query to one database.
	queryTimeout = time.Second

	// resolveInterval is how often the addresses of the databases are looked up.
	resolveInterval = 5 * time.Second

	// recent is for how long a failed question says something about a database: questions are asked only while notices
	// are held.
	recent = 5 * time.Second
)

// Gate releases notices: a notice is released when every database that readers use has its position. A database that
// answers and is behind holds them, however long. One that has failed to answer for a time is not waited for, since
// readers that use it answer 503.
type Gate struct {
	config  GateConfig
	servers []*server // nil: the databases were never read
	next    time.Time // of the next look at the addresses
	asking  sync.WaitGroup
}

// GateConfig configures a gate.
type GateConfig struct {
	// Databases returns how to connect to the databases that readers use. Those with several hosts, and names with
	// several addresses, are asked one by one.
	Databases func() ([]*pgx.ConnConfig, error)
	// Unreachable is for how long a database that doesn't answer, however often it is asked, holds notices; 0: 60 s.
	Unreachable time.Duration
	Log         zerolog.Logger
}

// NewGate returns a gate. Close it.
func NewGate(c GateConfig) *Gate {
	if c.Unreachable == 0 {
		c.Unreachable = time.Minute
	}
	return &Gate{config: c}
}

// Close ends the connections.
func (g *Gate) Close() {
	g.asking.Wait()
	for _, s := range g.servers {
		s.close()
	}
}

// released returns up to which sequence all databases have the rows of each partition; nil: no database is waited for.
func (g *Gate) released(ctx context.Context) map[partition]int64 {
	if g.resolve(ctx); g.servers == nil {
		return map[partition]int64{}
	}

	// A server that is not waited for is asked in the background: its answer can end the outage.
	var waited sync.WaitGroup
	for _, s := range g.servers {
		question := func() { g.ask(ctx, s) }
		if _, ok := s.answer(g.config.Unreachable); ok {
			waited.Go(question)
		} else {
			g.asking.Go(question)
		}
	}
	waited.Wait()

	var least map[partition]int64
	for _, s := range g.servers {
		if positions, ok := s.answer(g.config.Unreachable); ok {
			least = minimum(least, positions)
		}
	}
	return least
}

// ask asks a server, unless an earlier question is still unanswered.
func (g *Gate) ask(ctx context.Context, s *server) {
	if !s.busy.TryLock() {
		return
	}
	defer s.busy.Unlock()

	// A question in the background goes on when the step that asks it has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	positions, err := s.positions(ctx)
	if err != nil {
		g.config.Log.Debug().Err(err).Str("server", s.name).Msg("asking a reader's database failed")
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = positions

	if err == nil {
		s.outage = outage{}
	} else {
		s.outage.add(time.Now(), g.config.Unreachable)
	}
}

// server is one server of the databases.
type server struct {
	name string
	busy sync.Mutex // held by a question, which alone uses conn
	conn *pgx.Conn  // nil: not connected

	mu     sync.Mutex // guards what follows
	config *pgx.ConnConfig
	last   map[partition]int64 // nil: the last question failed, or there was none
	outage outage
}

func (s *server) close() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		_ = s.conn.Close(ctx)
		s.conn = nil
	}
}

// positions asks the server. A connection that broke since the last question is replaced.
func (s *server) positions(ctx context.Context) (positions map[partition]int64, err error) {
	for range 2 {
		if s.conn == nil {
			// The gate may set another configuration at any time.
			s.mu.Lock()
			config := s.config
			s.mu.Unlock()

			if s.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
				return nil, err
			}
		}

		if positions, err = readPositions(ctx, s.conn); err == nil {
			return positions, nil
		}

		s.close()
	}
	return nil, err
}

// answer returns the last answer. A server that doesn't answer has nothing. It is not ok where the server hasn't
// answered for so long that it is not waited for.
func (s *server) answer(unreachable time.Duration) (positions map[partition]int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outage.ignored(time.Now(), unreachable) {
		return nil, false
	}
	if s.last == nil {
		return map[partition]int64{}, true
	}
	return s.last, true
}

// outage is the time in which all questions to a server failed: the first failure since the last answer, and the last
// one. Zero: there is none.
type outage struct {
	first, last time.Time
}

// add adds a failure. One that follows no recent failure is the first of another outage: the server can have answered
// readers meanwhile. That of a server that was ignored goes on until the server answers, so that it delays no later
// notices as long again.
func (o *outage) add(at time.Time, unreachable time.Duration) {
	if o.first.IsZero() || at.Sub(o.last) >= recent && o.last.Sub(o.first) < unreachable {
		o.first = at
	}
	o.last = at
}

// ignored tells whether the server was unreachable for long enough, and still is: a failure of long ago says nothing
// about now.
func (o outage) ignored(now time.Time, unreachable time.Duration) bool {
	return !o.first.IsZero() && o.last.Sub(o.first) >= unreachable && now.Sub(o.last) < recent
}

// resolve brings the servers to the addresses that the databases' names have now. What can't be looked up stays as it
// is.
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

	// Servers that are known stay; the connection of each other one ends with its last question.
	var list []*server
	for _, config := range databases {
		for _, h := range hosts(config) {
			list = append(list, g.serversOf(ctx, h)...)
		}
	}

	for _, old := range g.servers {
		if !slices.Contains(list, old) {
			g.asking.Go(func() { // once its last question has ended
				old.busy.Lock()
				old.close()
			})
		}
	}

	g.servers = list
}

// hosts returns a configuration for each host of a URL, with the ways to connect to it: with TLS and without, where
// sslmode allows both. It connects whatever the server is: primary or standby.
func hosts(config *pgx.ConnConfig) (list []*pgx.ConnConfig) {
	first := &pgconn.FallbackConfig{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}
	for _, w := range append([]*pgconn.FallbackConfig{first}, config.Fallbacks...) {
		i := slices.IndexFunc(list, func(c *pgx.ConnConfig) bool { return c.Host == w.Host && c.Port == w.Port })
		if i >= 0 {
			list[i].Fallbacks = append(list[i].Fallbacks, w)
			continue
		}

		c := config.Copy()
		c.Host, c.Port, c.TLSConfig, c.Fallbacks, c.ValidateConnect = w.Host, w.Port, w.TLSConfig, nil, nil
		list = append(list, c)
	}
	return list
}

// serversOf returns the servers of a host, one for each address. A server that is known stays the same. A proxy of
// connections can have several databases, and lead users to different servers.
func (g *Gate) serversOf(ctx context.Context, host *pgx.ConnConfig) (list []*server) {
	prefix := fmt.Sprintf("%s %q %q ", net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port))), host.Database, host.User)

	addresses, err := lookUp(ctx, host.Host)
	if err != nil {
		g.config.Log.Warn().Err(err).Str("host", host.Host).Msg("looking up a reader's database failed")

		// A failed look-up says nothing new, so the known servers stay.
		other := func(s *server) bool { return !strings.HasPrefix(s.name, prefix) }
		if known := slices.DeleteFunc(slices.Clone(g.servers), other); len(known) > 0 {
			return known
		}

		addresses = []string{host.Host} // the query fails, and holds notices
	}

	for _, address := range addresses {
		// The connection goes to this address alone.
		config := host.Copy()
		if !strings.HasPrefix(host.Host, "/") {
			config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{address}, nil }
		}

		s := &server{name: prefix + address}
		if i := slices.IndexFunc(g.servers, func(known *server) bool { return known.name == s.name }); i >= 0 {
			s = g.servers[i]
		}

		s.mu.Lock()
		s.config = config // the password may be another
		s.mu.Unlock()
		list = append(list, s)
	}

	return list
}

// lookUp returns the addresses of a host. A socket path or an IP address is returned unchanged.
func lookUp(ctx context.Context, host string) ([]string, error) {
	if strings.HasPrefix(host, "/") || net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return net.DefaultResolver.LookupHost(ctx, host)
}
