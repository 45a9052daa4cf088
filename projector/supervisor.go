package projector

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"callboard/projector/feed"
	"callboard/projector/ingest"
	"callboard/projector/store"
)

// supervisor runs one worker per partition that the session owns. Its methods are for the session's goroutine,
// except activate, active, ifActive, and those that run until their context ends.
type supervisor struct {
	projector  *Projector
	source     ingest.Source
	feed       *feed.SharedFeed
	exits      chan exit
	workers    sync.WaitGroup
	partitions map[int]*partitionState

	mu      sync.Mutex // guards running
	running []*worker  // whose positions are claimed, members of the feed
}

// partitionState is the state of a partition that the projector may own.
type partitionState struct {
	running      bool
	startedAt    time.Time
	notBefore    time.Time // of the next start
	backOff      BackOff
	confirmation Confirmation // of what is to stop a partition of a replicated stream
}

// exit is the end of a worker. err is nil where its context ended.
type exit struct {
	partition  int
	replicated bool // the stream has replicas, so that a server that isn't its leader any more can have answered
	err        error
}

func newSupervisor(p *Projector, source ingest.Source, feed *feed.SharedFeed, partitions []int) *supervisor {
	s := &supervisor{
		projector: p, source: source, feed: feed, partitions: make(map[int]*partitionState),
		exits: make(chan exit, len(partitions)), // it can be sent to although nobody receives
	}
	for _, partition := range partitions {
		s.partitions[partition] = &partitionState{backOff: NewBackOff()}
		p.metrics.exited(partition)
	}
	return s
}

// startable returns the partitions that don't run and whose back-off is over.
func (s *supervisor) startable() []int {
	var list []int
	for partition, state := range s.partitions {
		if !state.running && time.Now().After(state.notBefore) {
			list = append(list, partition)
		}
	}
	return list
}

func (s *supervisor) start(ctx context.Context, partitions []int) {
	for _, partition := range partitions {
		state := s.partitions[partition]
		state.running, state.startedAt = true, time.Now()
		s.projector.metrics.started(partition)
		s.workers.Go(func() { s.exits <- runWorker(ctx, s, partition) })
	}
}

// activate makes a worker one that active returns, until end is called: then nobody moves its position any more.
func (s *supervisor) activate(w *worker) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = append(s.running, w)
	return func() {
		s.mu.Lock()
		s.running = slices.DeleteFunc(slices.Clone(s.running), func(other *worker) bool { return other == w })
		s.mu.Unlock()

		// The lock waits for a move of the position that is under way.
		w.work.Lock()
		defer w.work.Unlock()
		w.closed = true
	}
}

// ifActive calls do unless the worker has ended. It does not end meanwhile.
func (s *supervisor) ifActive(w *worker, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.running, w) {
		do()
	}
}

// active returns the workers that run.
func (s *supervisor) active() []*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.running)
}

// ownedElsewhere removes the stop reasons of the partitions that could not be locked: their owner reports its own.
func (s *supervisor) ownedElsewhere(startable, locked []int) {
	for _, partition := range startable {
		if !slices.Contains(locked, partition) {
			s.projector.metrics.resumed(partition)
		}
	}
}

// exited records the exit of a worker, and when its partition may start again.
func (s *supervisor) exited(e exit) {
	state := s.partitions[e.partition]
	state.running = false
	s.projector.metrics.exited(e.partition)
	wait := state.backOff.Next(time.Since(state.startedAt))

	// A stop that a former leader's answer can have caused needs a confirmation.
	var stop *ingest.StopError
	if errors.As(e.err, &stop) {
		if e.replicated && stop.MayBeStale() && !state.confirmation.Confirms(stop.Reason, time.Now()) {
			wait = ConfirmInterval
		} else {
			s.projector.metrics.stopped.WithLabelValues(label(e.partition), stop.Reason).Set(1)
			wait = MaxInterval
		}
	}

	state.notBefore = time.Now().Add(wait)
	level := zerolog.ErrorLevel
	if errors.Is(e.err, store.ErrFenced) || errors.Is(e.err, feed.ErrReconnected) {
		level = zerolog.InfoLevel // nothing is wrong: another projector or an operator took over, or NATS is back
	}
	s.projector.config.Log.WithLevel(level).Err(e.err).Int("partition", e.partition).Time("not_before", state.notBefore).
		Msg("partition stopped")
}

// wait returns once every worker has exited.
func (s *supervisor) wait() {
	s.workers.Wait()
	for partition := range s.partitions {
		s.projector.metrics.exited(partition)
	}
}
