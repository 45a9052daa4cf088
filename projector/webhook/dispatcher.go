package webhook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"callboard/projector/webhook/lane"
)

const (
	// refreshInterval is how often the settings of endpoints are read: a pause or another URL takes effect within it.
	refreshInterval = time.Second

	// abandonAfter is how long a dispatcher whose session is lost waits for its requests: others may own its endpoints already.
	abandonAfter = time.Second

	// recordWithin is how long an ending dispatcher tries to record outcomes.
	recordWithin = 5 * time.Second
)

// dispatcher sends the deliveries of a session's shards. One goroutine runs it and is alone in changing lanes. Loads, requests and records
// run beside it and report by channels; the goroutine receives until all have reported.
type dispatcher struct {
	*Sender
	scheduler *lane.Scheduler[delivery]
	endpoints map[uuid.UUID]*endpoint
	owned     []int     // shards; others' endpoints retire
	until     time.Time // from then on, other senders may own the shards: no request starts

	stale    map[*endpoint]struct{} // may have deliveries in the database that their lanes need
	pending  []outcome              // to be recorded next
	deferred []outcome              // to be recorded at the next poll: their endpoints were locked

	refreshing, loading, recording bool
	refreshAgain                   bool // the shards changed during a refresh
	refreshOutdated                bool // endpoints were disabled during a refresh, which can have read them before
	ending                         bool

	assignments chan assignment
	refreshed   chan refresh
	loaded      chan load
	attempted   chan outcome
	recorded    chan record
}

// assignment gives a dispatcher its shards until an instant. used receives the others whose requests are not finished.
type assignment struct {
	owned []int
	until time.Time
	used  chan []int
}

func newDispatcher(s *Sender) *dispatcher {
	return &dispatcher{
		Sender: s, scheduler: lane.NewScheduler[delivery](s.config.InFlight), endpoints: make(map[uuid.UUID]*endpoint),
		stale: make(map[*endpoint]struct{}), assignments: make(chan assignment), refreshed: make(chan refresh), loaded: make(chan load),
		attempted: make(chan outcome), recorded: make(chan record),
	}
}

// assign makes the dispatcher start requests for shards and for no others, until an instant. It returns the others that are still in use, and
// false if ctx ended.
func (d *dispatcher) assign(ctx context.Context, owned []int, until time.Time) (used []int, ok bool) {
	a := assignment{slices.Clone(owned), until, make(chan []int, 1)}
	select {
	case <-ctx.Done():
		return nil, false
	case d.assignments <- a:
		return <-a.used, true
	}
}

// run sends until ctx ends, and returns once the requests have ended and their outcomes are recorded.
func (d *dispatcher) run(ctx context.Context) {
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	poll, refreshes := time.NewTicker(d.config.Poll), time.NewTicker(refreshInterval)
	defer poll.Stop()
	defer refreshes.Stop()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for ctx.Err() == nil {
		d.advance(ctx, requests, wake)
		select {
		case <-ctx.Done():
		case a := <-d.assignments:
			a.used <- d.applyAssignment(ctx, a)
		case <-refreshes.C:
			d.startRefresh(ctx)
		case shards := <-d.due:
			d.markShards(shards)
		case <-poll.C:
			d.markAll()
			d.resumeDeferred()
		case <-wake.C:
		case r := <-d.refreshed:
			d.applyRefresh(ctx, r)
		case l := <-d.loaded:
			d.applyLoad(l)
		case o := <-d.attempted:
			d.finish(o)
		case r := <-d.recorded:
			d.applyRecord(r)
		}
	}
	d.drain(ctx, abandon)
}

// advance starts what can start now, and sets the timer to when more can.
func (d *dispatcher) advance(ctx, requests context.Context, wake *time.Timer) {
	now := time.Now()
	for d.maySend(now) {
		l, next, ok := d.scheduler.Next(now)
		if !ok {
			break
		}
		d.attempt(requests, l, next)
	}
	d.startLoad(ctx)
	d.startRecord(ctx)
	if at, ok := d.scheduler.WakeAt(now); ok && d.maySend(now) {
		wake.Reset(time.Until(at))
	}
}

// maySend tells whether requests may start. When many outcomes are not recorded, none do: no outcome is lost, and memory is bounded.
func (d *dispatcher) maySend(now time.Time) bool {
	return now.Before(d.until) && len(d.pending) < d.config.InFlight
}

// drain waits for requests and records their outcomes. A dispatcher whose session is lost gives its requests up soon.
func (d *dispatcher) drain(ctx context.Context, abandon func()) {
	d.ending = true
	d.resumeDeferred()
	gracePeriod := d.config.Timeout
	if errors.Is(context.Cause(ctx), errSessionLost) {
		gracePeriod = abandonAfter
	}
	recording, stop := context.WithTimeout(context.WithoutCancel(ctx), gracePeriod+recordWithin)
	defer stop()
	abandonment := time.AfterFunc(gracePeriod, abandon)
	defer abandonment.Stop()
	for d.scheduler.InFlight() > 0 || d.loading || d.refreshing || d.recording || len(d.pending) > 0 && recording.Err() == nil {
		d.startRecord(recording)
		select {
		case a := <-d.assignments:
			a.used <- d.applyAssignment(ctx, a)
		case <-d.refreshed:
			d.refreshing = false
		case <-d.loaded:
			d.loading = false
		case o := <-d.attempted:
			d.finish(o)
		case r := <-d.recorded:
			d.applyRecord(r)
		}
	}
	for _, e := range d.endpoints {
		e.close()
	}
}

// applyAssignment sets the shards for which the dispatcher sends. It returns the other shards that have unfinished requests.
func (d *dispatcher) applyAssignment(ctx context.Context, a assignment) (used []int) {
	d.until = a.until
	if !slices.Equal(d.owned, a.owned) {
		d.owned = a.owned
		for _, e := range d.endpoints {
			if !slices.Contains(a.owned, e.shard) {
				d.retire(e)
			}
		}
		if !d.ending {
			d.refreshAgain = true
			d.startRefresh(ctx)
		}
	}
	for _, e := range d.endpoints {
		if !slices.Contains(a.owned, e.shard) && !slices.Contains(used, e.shard) {
			used = append(used, e.shard)
		}
	}
	return used
}

// retire stops sending to an endpoint. It is forgotten when its last outcome is recorded.
func (d *dispatcher) retire(e *endpoint) {
	if !e.retired {
		e.retired = true
		delete(d.stale, e)
		d.scheduler.Remove(e.lane)
	}
	d.forget(e)
}

func (d *dispatcher) forget(e *endpoint) {
	if e.retired && e.unrecorded == 0 {
		e.close()
		delete(d.endpoints, e.id)
	}
}

func (d *dispatcher) markShards(shards []int16) {
	for _, e := range d.endpoints {
		if slices.Contains(shards, int16(e.shard)) {
			d.mark(e)
		}
	}
}

func (d *dispatcher) markAll() {
	for _, e := range d.endpoints {
		d.mark(e)
	}
}

// mark makes the next load ask for an endpoint's deliveries.
func (d *dispatcher) mark(e *endpoint) {
	if !e.retired && len(e.secrets) > 0 {
		d.stale[e] = struct{}{}
	}
}
