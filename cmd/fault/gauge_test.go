package fault_test

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// gauge looks at how far the live projection is, over and over.
type gauge struct {
	stage *stage
	done  sync.WaitGroup

	mu       sync.Mutex
	readings []reading
}

// reading is what was so at one time.
type reading struct {
	at      time.Time
	applied int64         // messages
	behind  int64         // messages that the stream has beyond these
	late    time.Duration // since the last instant that all before is in the tables of
}

const gaugeEvery = 100 * time.Millisecond

const progress = `
  select (select coalesce(sum(read), 0)::bigint from projection.message_count), (clock_timestamp() - min(watermark))::interval
  from projection.position`

// measure looks until stop is called, which returns once that has ended.
func (s *stage) measure() (g *gauge, stop func()) {
	s.tb.Helper()
	g = &gauge{stage: s}
	ctx, cancel := context.WithCancel(s.tb.Context())
	g.done.Go(func() {
		tick := time.NewTicker(gaugeEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				g.look(ctx)
			}
		}
	})
	stop = func() { cancel(); g.done.Wait() }
	s.tb.Cleanup(stop)
	return g, stop
}

func (g *gauge) look(ctx context.Context) {
	now := reading{at: time.Now()}
	err := g.stage.pool.QueryRow(ctx, progress).Scan(&now.applied, &now.late)
	if err == nil {
		now.behind = g.stage.feed.published.Load() - now.applied
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		g.stage.tb.Errorf("how far the projection is: %v", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.readings = append(g.readings, now)
}

func (s stretch) String() string {
	return fmt.Sprintf("%.0f messages/s applied, at most %d and %s behind", s.rate, s.behind, brief(s.late))
}

// stretch is how the live projection fared for a while.
type stretch struct {
	rate   float64 // messages a second
	behind int64   // at most
	late   time.Duration
}

func (g *gauge) between(from, to time.Time) (s stretch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var first, last reading
	for _, at := range g.readings {
		if at.at.Before(from) || at.at.After(to) {
			continue
		}
		if first.at.IsZero() {
			first = at
		}
		last = at
		s.behind, s.late = max(s.behind, at.behind), max(s.late, at.late)
	}
	if last.at.After(first.at) {
		s.rate = float64(last.applied-first.applied) / last.at.Sub(first.at).Seconds()
	}
	return s
}
