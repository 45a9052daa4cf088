package fanout

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
)

const (
	// queryTimeout limits the query to one database.
	queryTimeout = time.Second

	// resolveInterval is how often the addresses of the databases are looked up.
	resolveInterval = 5 * time.Second

	// recent is for how long a failed question says something about a database: questions are asked only while notices are held.
	recent = 5 * time.Second
)

// Gate releases notices: a notice is released when every database that readers use has its position. A database that answers and is behind
// holds them, however long. One that has failed to answer for a time is not waited for, since readers that use it answer 503.
type Gate struct {
	config  GateConfig
	servers []*server
	known   bool      // the databases were read at least once
	next    time.Time // of the next look at the addresses
	asking  sync.WaitGroup
}

// GateConfig configures a gate.
type GateConfig struct {
	// Databases returns how to connect to the databases that readers use. Those with several hosts, and names with several addresses, are
	// asked one by one.
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
func (g *Gate) released(ctx context.Context) map[Position]int64 {
	if g.resolve(ctx); !g.known {
		return map[Position]int64{}
	}
	var waited []<-chan struct{}
	for _, s := range g.servers {
		if done := g.ask(ctx, s); !s.ignored(g.config.Unreachable) {
			waited = append(waited, done)
		}
	}
	for _, done := range waited {
		<-done
	}
	var least map[Position]int64
	for _, s := range g.servers {
		if positions, ok := s.answer(g.config.Unreachable); ok {
			least = minimum(least, positions)
		}
	}
	return least
}

// ask asks a server in the background, unless an earlier question is still unanswered. done is closed with the answer.
func (g *Gate) ask(ctx context.Context, s *server) (done <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil {
		return s.done
	}
	config := s.config
	finished := make(chan struct{})
	s.done = finished
	g.asking.Go(func() {
		defer close(finished)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer cancel()
		positions, err := s.positions(ctx, config)
		if err != nil {
			g.config.Log.Debug().Err(err).Str("server", s.name).Msg("asking a reader's database failed")
		}
		s.answered(positions, err, g.config.Unreachable)
	})
	return finished
}

// server is one server of the databases. Only one question at a time uses its connection.
type server struct {
	name string
	conn *pgx.Conn // nil: not connected

	mu     sync.Mutex // guards what follows
	config *pgx.ConnConfig
	done   chan struct{}      // of the question that is not answered yet; nil: there is none
	last   map[Position]int64 // nil: the last question failed, or there was none
	outage outage
}

func (s *server) close() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		_ = s.conn.Close(ctx)
	}
}

// positions asks the server, connecting first where that is necessary. A connection that broke since the last question is replaced.
func (s *server) positions(ctx context.Context, config *pgx.ConnConfig) (map[Position]int64, error) {
	if s.conn != nil {
		if positions, err := s.query(ctx); err == nil {
			return positions, nil
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s.conn = conn
	return s.query(ctx)
}

// query asks on the connection, and closes it after an error.
func (s *server) query(ctx context.Context) (map[Position]int64, error) {
	positions, err := readPositions(ctx, s.conn)
	if err != nil {
		s.close()
		s.conn = nil
		return nil, err
	}
	return positions, nil
}

func (s *server) answered(positions map[Position]int64, err error, unreachable time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.last = nil, positions
	if err == nil {
		s.outage = outage{}
	} else {
		s.outage.add(time.Now(), unreachable)
	}
}

// ignored tells whether the server hasn't answered for so long that it is not waited for.
func (s *server) ignored(unreachable time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outage.ignored(time.Now(), unreachable)
}

// answer returns the last answer. A server that doesn't answer has nothing, until it is ignored.
func (s *server) answer(unreachable time.Duration) (positions map[Position]int64, ok bool) {
	if s.ignored(unreachable) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return map[Position]int64{}, true
	}
	return s.last, true
}

// outage is the time in which all questions to a server failed: the first failure since the last answer, and the last one. Zero: there is none.
type outage struct {
	first, last time.Time
}

// add adds a failure. One that follows no recent failure is the first of another outage: the server can have answered readers meanwhile. That
// of a server that was ignored goes on until the server answers, so that it delays no later notices as long again.
func (o *outage) add(at time.Time, unreachable time.Duration) {
	if o.first.IsZero() || at.Sub(o.last) >= recent && o.last.Sub(o.first) < unreachable {
		o.first = at
	}
	o.last = at
}

// ignored tells whether the server was unreachable for long enough, and still is: a failure of long ago says nothing about now.
func (o outage) ignored(now time.Time, unreachable time.Duration) bool {
	return !o.first.IsZero() && o.last.Sub(o.first) >= unreachable && now.Sub(o.last) < recent
}
