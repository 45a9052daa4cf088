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
	"callboard/events/sample"
)

// feed publishes what a company does, for as long as the test wants, and what nobody should publish in between. It is past all
// lines, and doesn't rest until the stream has everything.
type feed struct {
	js        jetstream.JetStream
	publisher *events.Publisher
	company   *sample.Company
	disorder  *disorder
	dice      *rand.Rand
	pace      pace

	publishing sync.Mutex // held while something is on its way
	published  atomic.Int64
	stop       func() // the feed ends with the test in any case
}

const (
	backlog    = 1500 // events that are there before anybody reads
	claimCheck = 4000 // bytes above which transcripts travel as claim checks
	rhythm     = 50 * time.Millisecond
)

// pace is how many events come at a beat of the rhythm.
type pace func(dice *rand.Rand) int

// stroll is a few events, and now and then a lot.
func stroll(dice *rand.Rand) int {
	if dice.IntN(60) == 0 {
		return 100
	}
	return dice.IntN(8)
}

// march is so many events a second.
func march(rate int) pace {
	return func(*rand.Rand) int { return rate * int(rhythm) / int(time.Second) }
}

// tiring is a pace that falls to a fifth once so many events have come: whatever reads the whole stream again would take ever longer.
func tiring(p pace, most int) pace {
	sent := 0
	return func(dice *rand.Rand) int {
		n := p(dice)
		if sent >= most {
			n /= 5
		}
		sent += n
		return n
	}
}

// newFeed publishes the backlog and begins.
func (s *stage) newFeed(seed uint64, p pace) *feed {
	s.tb.Helper()
	dice := rand.New(rand.NewPCG(seed, 2))
	company := sample.New(sample.Config{Seed: seed, Systems: 6, Calls: 250, Days: 4, Until: present()})
	next, finish := iter.Pull(happenings(company))
	f := &feed{
		js: s.js, publisher: events.NewPublisher(s.js, "fault", events.MaxMessage(claimCheck)), company: company,
		disorder: newDisorder(next, dice), dice: dice, pace: p,
	}
	if err := f.publish(s.tb.Context(), backlog); err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.tb.Context())
	done := make(chan error, 1)
	go func() { done <- f.run(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.tb.Errorf("feed: %v", err)
		}
		finish()
	})
	s.tb.Cleanup(f.stop)
	return f
}

// present is where the company's history ends and its live calls begin. Its clock is its own.
func present() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }

// happenings are what the company publishes, without end.
func happenings(company *sample.Company) iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for e := range company.Directory() {
			if !yield(e) {
				return
			}
		}
		for e := range company.History() {
			if !yield(e) {
				return
			}
		}
		calls := company.Live()
		for now := present(); ; now = now.Add(20 * time.Second) {
			for _, e := range calls.Next(now, 1) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// run publishes at its pace until ctx ends.
func (f *feed) run(ctx context.Context) error {
	tick := time.NewTicker(rhythm)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := f.publish(ctx, f.pace(f.dice))
		if ctx.Err() == nil && err != nil {
			return err
		}
	}
}

// pause returns once nothing is on its way, and keeps it so until resume is called.
func (f *feed) pause() (resume func()) {
	f.publishing.Lock()
	return f.publishing.Unlock
}

// publish returns once the stream has so many more events, as far as ctx lives.
func (f *feed) publish(ctx context.Context, count int) error {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	list, poisons := f.disorder.next(count)
	if err := f.publisher.Publish(ctx, list...); err != nil {
		return err
	}
	for _, p := range poisons {
		if err := f.poison(ctx, p); err != nil {
			return err
		}
	}
	f.published.Add(int64(len(list) + len(poisons)))
	return nil
}

// poison publishes a message as it is, under its ID, until the stream has it.
func (f *feed) poison(ctx context.Context, p poison) error {
	return backoff.Retry(func() error {
		own, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := f.js.PublishMsg(own, p.message())
		if refusal := (*jetstream.APIError)(nil); errors.As(err, &refusal) && refusal.Code == 400 {
			return backoff.Permanent(err)
		}
		return err
	}, backoff.WithContext(backoff.NewConstantBackOff(rhythm), ctx))
}

// systems are the company's phone systems.
func (f *feed) systems() []uuid.UUID {
	var list []uuid.UUID
	for _, system := range f.company.Systems() {
		list = append(list, system.ID)
	}
	return list
}

// extension is somebody's in the system who takes calls.
func (f *feed) extension(system uuid.UUID) uuid.UUID {
	for e := range f.company.Directory() {
		if x, ok := e.State.(*events.Extension); ok && x.PhoneSystemID == system {
			return x.ID
		}
	}
	return uuid.Nil
}
