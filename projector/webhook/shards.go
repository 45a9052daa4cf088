package webhook

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"callboard/projector/lock"
)

// shardCount is the number of shards; the column webhook.endpoint.shard has them.
const shardCount = 64

// shareInterval is how often a sender brings its share of the shards up to date. Each time, its session sends a statement.
const shareInterval = 500 * time.Millisecond

//go:embed owners.sql
var ownersSQL string

// session owns a share of the shards by the locks of one database connection, for as long as that lasts.
func (s *Sender) session(ctx context.Context) (err error) {
	locks, err := lock.New(ctx, lock.Shards, s.config.Database, s.config.Database)
	if err != nil {
		return err
	}
	d := newDispatcher(s)
	var dispatching sync.WaitGroup
	running, lost := context.WithCancelCause(ctx)
	dispatched, end := context.WithCancel(context.WithoutCancel(ctx)) // ends after the dispatcher
	dispatching.Go(func() {
		defer end()
		d.run(running)
	})
	// The requests end before their locks are released, so that the next owner finds the outcomes.
	defer func() {
		lost(errSessionLost)
		dispatching.Wait()
		s.metrics.shards.Set(0)
		s.metrics.setLanes(nil)
		err = errors.Join(err, locks.Close())
	}()
	o := &shardBalancer{Sender: s, locks: locks, dispatcher: d}
	if err := o.registerPresence(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(shareInterval)
	defer tick.Stop()
	for {
		err := o.balance(ctx)
		switch {
		case ctx.Err() != nil: // which ends a statement of balance, too
			return o.releaseAll(dispatched, tick.C)
		case err != nil:
			return err
		}
		now := time.Now()
		s.balancedAt.Store(&now)
		select {
		case <-ctx.Done():
			return o.releaseAll(dispatched, tick.C)
		case <-tick.C:
		}
	}
}

// errSessionLost ends a dispatcher whose shards others may own now.
var errSessionLost = errors.New("webhook session lost")

// shardBalancer takes and releases shards for a session.
type shardBalancer struct {
	*Sender
	locks      *lock.Locks
	dispatcher *dispatcher
	owned      []int     // locked
	ownedAt    time.Time // when the last statement about locks that succeeded was sent
	presence   int       // the key above the shards
}

// sendWithin is for how long after a statement about its locks a sender starts requests. Others take its locks after one and a half times as long
// without a statement. So a sender that was frozen stops before another one sends.
func (s *Sender) sendWithin() time.Duration {
	return time.Duration(s.config.OwnerChecks) * shareInterval * 2 / 3
}

// registerPresence locks a key above the shards, by which senders count each other.
func (o *shardBalancer) registerPresence(ctx context.Context) error {
	for {
		o.presence = shardCount + rand.IntN(1<<30)
		if locked, err := o.locks.TryLock(ctx, []int{o.presence}); err != nil || len(locked) > 0 {
			return err
		}
	}
}

// releaseAll releases shards as the ending dispatcher leaves them, until dispatched ends. It shows signs of life meanwhile: otherwise another
// sender would repeat requests that take long.
func (o *shardBalancer) releaseAll(dispatched context.Context, tick <-chan time.Time) error {
	if err := o.locks.Unlock(dispatched, o.presence); err != nil {
		return err
	}
	for {
		if err := o.release(dispatched, 0); err != nil {
			return err
		}
		select {
		case <-dispatched.Done():
			return nil
		case <-tick:
		}
		if _, err := o.locks.TryLock(dispatched, nil); err != nil {
			return err
		}
	}
}

// balance brings the shards to a fair share: it takes free ones, or has the dispatcher leave some, and releases those that it has left.
func (o *shardBalancer) balance(ctx context.Context) error {
	terminated, err := o.locks.TerminateUnresponsive(ctx, o.config.OwnerChecks)
	for _, session := range terminated {
		o.config.Log.Warn().Int32("pid", session.PID).Str("application_name", session.Application).Msg("terminated unresponsive webhook sender")
	}
	if err != nil {
		return err
	}
	senders, free, err := o.owners(ctx)
	if err != nil {
		return fmt.Errorf("owners of shards: %w", err)
	}
	share := (shardCount + senders - 1) / max(senders, 1)
	rand.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	sent := time.Now()
	// Also without a shard to take, the statement proves that the locks are there.
	locked, err := o.locks.TryLock(ctx, free[:min(max(share-len(o.owned), 0), len(free))])
	if err != nil {
		return err
	}
	o.owned, o.ownedAt = append(o.owned, locked...), sent
	return o.release(ctx, share)
}

// owners returns the number of senders and the free shards.
func (o *shardBalancer) owners(ctx context.Context) (senders int, free []int, err error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	err = o.config.Database.QueryRow(ctx, ownersSQL).Scan(&senders, &free)
	return senders, free, err
}

// release has the dispatcher send for a share of the shards, and unlocks the others as soon as it no longer uses them.
func (o *shardBalancer) release(ctx context.Context, share int) error {
	kept := o.owned[:min(share, len(o.owned))]
	used, ok := o.dispatcher.assign(ctx, kept, o.ownedAt.Add(o.sendWithin()))
	if !ok {
		return nil
	}
	var left []int
	for _, shard := range o.owned[len(kept):] {
		if slices.Contains(used, shard) {
			left = append(left, shard)
			continue
		}
		if err := o.locks.Unlock(ctx, shard); err != nil {
			return err
		}
	}
	o.owned = append(slices.Clone(kept), left...)
	o.metrics.shards.Set(float64(len(kept)))
	return nil
}
