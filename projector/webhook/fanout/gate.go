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
)

// Gate releases notices: a notice is released when every database that readers use has its position. A database that answers and is behind
// holds them, however long. One that hasn't answered for a time is not waited for, since readers that use it answer 503.
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
	// Unreachable is for how long a database that doesn't answer holds notices; 0: 60 s.
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
		s.answered(positions, err)
	})
	return finished
}

// server is one server of the databases. Only one question at a time uses its connection.
type server struct {
	name string
	conn *pgx.Conn // nil: not connected

	mu        sync.Mutex // guards what follows
	config    *pgx.ConnConfig
	done      chan struct{} // of the question that is not answered yet; nil: there is none
	last      map[Position]int64
	err       error
	reachedAt time.Time // or when the server became known
}

func (s *server) close() {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
		defer cancel()
		_ = s.conn.Close(ctx)
	}
}

// positions asks the server, connecting first where that is necessary.
func (s *server) positions(ctx context.Context, config *pgx.ConnConfig) (map[Position]int64, error) {
	if s.conn == nil || s.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		s.conn = conn
	}
	positions, err := readPositions(ctx, s.conn)
	if err != nil {
		s.close()
		s.conn = nil
	}
	return positions, err
}

func (s *server) answered(positions map[Position]int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.last, s.err = nil, positions, err
	if err == nil {
		s.reachedAt = time.Now()
	}
}

// ignored tells whether the server hasn't answered for so long that it is not waited for.
func (s *server) ignored(unreachable time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil && time.Since(s.reachedAt) >= unreachable
}

// answer returns the last answer. A server that doesn't answer has nothing, until it is ignored.
func (s *server) answer(unreachable time.Duration) (positions map[Position]int64, ok bool) {
	if s.ignored(unreachable) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.last == nil {
		return map[Position]int64{}, true
	}
	return s.last, true
}
