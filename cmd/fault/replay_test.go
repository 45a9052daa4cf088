package fault_test

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"callboard/events"
	"callboard/projector"
)

// replay fills the other database from the stream's first message, until all that was stored before an instant is in it.
func (s *stage) replay(at time.Time) {
	s.tb.Helper()
	pool := s.postgres.pool(s.postgres.roleURL(projectorRole, replayed), "projection")
	defer pool.Close()
	p, err := projector.New(projector.Config{
		JetStream: s.js, Stream: events.StreamName, Database: pool, Tick: rhythm, Log: zerolog.Nop(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.tb.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	s.past(pool, at)
	cancel()
	if err := <-done; err != nil {
		s.tb.Fatal(err)
	}
}
