package fault_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/events/sample"
)

// load publishes the events of a sample company until it is stopped, out of order and with poison messages among
// them. It connects to NATS directly and retries until the stream has stored every message.
type load struct {
	js        jetstream.JetStream
	publisher *events.Publisher
	company   *sample.Company
	reorderer *reorderer
	random    *rand.Rand
	rate      rate

	publishing sync.Mutex // held while messages are published
	published  atomic.Int64
	stop       func() // the end of the test calls it too
}

const (
	backlog      = 1500 // events published before the programs start
	maxMessage   = 4000 // bytes; longer transcripts are stored as objects
	loadInterval = 50 * time.Millisecond
)

// rate returns how many events are published in the next interval.
type rate func(random *rand.Rand) int

// bursty publishes a few events, and now and then a burst.
func bursty(random *rand.Rand) int {
	if random.IntN(120) == 0 {
		return 100
	}
	return random.IntN(4)
}

func constant(eventsPerSecond int) rate {
	return func(*rand.Rand) int { return eventsPerSecond * int(loadInterval) / int(time.Second) }
}

// decaying returns a rate that falls to a fifth after a number of events: every reread of the stream would take longer.
func decaying(r rate, after int) rate {
	sent := 0
	return func(random *rand.Rand) int {
		n := r(random)
		if sent >= after {
			n /= 5
		}
		sent += n
		return n
	}
}

// startLoad publishes the backlog, and goes on at a rate in the background.
func (h *harness) startLoad(seed uint64, r rate) *load {
	h.tb.Helper()
	random := rand.New(rand.NewPCG(seed, 2))
	company := sample.New(sample.Config{Seed: seed, Systems: 6, Calls: 250, Days: 4, Until: historyEnd()})
	next, finish := iter.Pull(companyEvents(company))
	l := &load{
		js: h.js, publisher: events.NewPublisher(h.js, "fault", events.MaxMessage(maxMessage)), company: company,
		reorderer: &reorderer{source: next, random: random, poison: poisonSource{random: random}}, random: random, rate: r,
	}
	if err := l.publish(h.tb.Context(), backlog); err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(finish)
	l.stop = eventstest.Run(h.tb, l.run)
	return l
}

// historyEnd is where the company's history ends and its live calls begin, by the company's own clock.
func historyEnd() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }

// companyEvents yields all that a company publishes: its directory, its history, and live calls without end.
func companyEvents(company *sample.Company) iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for e := range company.Events() {
			if !yield(e) {
				return
			}
		}
		calls := company.Live()
		for now := historyEnd(); ; now = now.Add(20 * time.Second) {
			for _, e := range calls.Next(now, 1) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// run publishes until ctx ends.
func (l *load) run(ctx context.Context) error {
	tick := time.NewTicker(loadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := l.publish(ctx, l.rate(l.random))
		if ctx.Err() == nil && err != nil {
			return err
		}
	}
}

// pause returns when no message is being published. Nothing is published until resume is called.
func (l *load) pause() (resume func()) {
	l.publishing.Lock()
	return l.publishing.Unlock
}

// publish publishes the company's next events. It returns when the stream has stored them, or when ctx ends.
func (l *load) publish(ctx context.Context, count int) error {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	list, poisons := l.reorderer.next(count)
	if err := l.publisher.Publish(ctx, list...); err != nil {
		return err
	}
	for _, p := range poisons {
		if err := l.publishPoison(ctx, p); err != nil {
			return err
		}
	}
	l.published.Add(int64(len(list) + len(poisons)))
	return nil
}

// publishPoison publishes a message as it is, because the publisher refuses to encode it.
func (l *load) publishPoison(ctx context.Context, p poison) error {
	return backoff.Retry(func() error {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := l.js.PublishMsg(attempt, p.message())
		if refusal := (*jetstream.APIError)(nil); errors.As(err, &refusal) && refusal.Code == 400 {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(backoff.NewConstantBackOff(loadInterval), ctx))
}

// systems returns the company's phone systems.
func (l *load) systems() []uuid.UUID {
	var list []uuid.UUID
	for _, system := range l.company.Systems() {
		list = append(list, system.ID)
	}
	return list
}

// reorderer delays some events, so that facets precede their calls and older versions follow newer ones, repeats
// some, and adds poison messages.
type reorderer struct {
	source  func() (events.Event, bool)
	random  *rand.Rand
	poison  poisonSource
	delayed []delayedEvent
}

// delayedEvent is published when after more events have been.
type delayedEvent struct {
	events.Event
	after int
}

// next takes count events from the source. It returns what is due, and the poison messages to publish after them.
func (r *reorderer) next(count int) (list []events.Event, poisons []poison) {
	for range count {
		e, _ := r.source() // it has no end
		list = append(list, r.due()...)
		switch {
		case r.random.IntN(12) == 0 || e.Entity == events.EntityCall && r.random.IntN(6) == 0:
			r.delay(e)
		default:
			list = append(list, e)
		}
		if r.random.IntN(30) == 0 {
			r.delay(repeated(e))
		}
		if r.random.IntN(60) == 0 {
			good, bad := r.poison.next(e)
			list, poisons = append(list, good...), append(poisons, bad)
		}
	}
	return list, poisons
}

func (r *reorderer) delay(e events.Event) {
	r.delayed = append(r.delayed, delayedEvent{e, 1 + r.random.IntN(1+r.random.IntN(300))})
}

// due removes and returns the delayed events that are due.
func (r *reorderer) due() (list []events.Event) {
	rest := r.delayed[:0]
	for _, d := range r.delayed {
		if d.after--; d.after > 0 {
			rest = append(rest, d)
		} else {
			list = append(list, d.Event)
		}
	}
	r.delayed = rest
	return list
}

// repeated is the event under another ID, so that the stream doesn't recognize the duplicate.
func repeated(e events.Event) events.Event {
	e.ID += "/again"
	return e
}
