package projector

import (
	"context"
	"time"

	"callboard/events"
	"callboard/projector/store"
)

// journalInterval is the interval at which the journal is read. Once would do for the database. But a NATS server that lags, or that does not
// know yet that it leads no more, may not have had the newest entries.
const journalInterval = 30 * time.Second

// journalActor applies key revocations and expiries again that the database has lost. A failover breaks the session's connection, so each
// session begins with it.
type journalActor struct {
	projector *Projector
	reader    events.KeyEndReader
	timeline  bool   // recorded
	lastError string // the text of the latest error; empty after a success
}

// run ends with ctx. Partitions are claimed meanwhile: they don't wait for the journal.
func (a *journalActor) run(ctx context.Context) {
	for backOff := NewBackOff(); ctx.Err() == nil; {
		wait := journalInterval
		if err := a.read(ctx); err != nil && ctx.Err() == nil {
			wait = backOff.Next(0)
			a.report(err)
		} else {
			a.lastError = ""
			backOff.Reset()
		}
		Pause(ctx, wait)
	}
}

// report logs an error once for as long as its text does not change.
func (a *journalActor) report(err error) {
	if a.lastError != err.Error() {
		a.projector.config.Log.Error().Err(err).Msg("reading the journal of revoked keys failed")
	}
	a.lastError = err.Error()
}

func (a *journalActor) read(ctx context.Context) error {
	if err := withApplyTimeout(ctx, a.recordTimeline); err != nil {
		return err
	}
	unreadable, err := a.reader.Read(ctx, a.projector.config.JetStream, func(entries []events.KeyEnd) error {
		return withApplyTimeout(ctx, func(ctx context.Context) error { return a.withdraw(ctx, entries) })
	})
	a.projector.metrics.journalRead(err == nil)
	if unreadable > 0 {
		a.projector.config.Log.Error().Int("messages", unreadable).Msg("messages of the journal of revoked keys not readable")
	}
	return err
}

// recordTimeline logs once per session whether the database has had a failover.
func (a *journalActor) recordTimeline(ctx context.Context) error {
	if a.timeline {
		return nil
	}
	t, err := a.projector.control.RecordTimeline(ctx)
	if err != nil {
		return err
	}
	a.timeline = true
	if t.Changed() {
		replayed := uint64(0)
		if newest := a.projector.newest.Load(); newest > t.Position {
			replayed = newest - t.Position
		}
		a.projector.config.Log.Warn().Int64("timeline", t.Current).Int64("previous", t.Previous).Uint64("position", t.Position).Uint64("replayed", replayed).
			Msg("database timeline changed")
	}
	return nil
}

func (a *journalActor) withdraw(ctx context.Context, entries []events.KeyEnd) error {
	list := make([]store.Withdrawal, len(entries))
	for i, e := range entries {
		list[i] = store.Withdrawal{Key: e.ID, RevokedAt: e.RevokedAt, ExpiresAt: e.ExpiresAt}
	}
	changed, err := a.projector.control.Withdraw(ctx, list)
	for _, id := range changed {
		a.projector.config.Log.Warn().Stringer("key_id", id).Msg("key revocation applied again: missing after a failover")
	}
	return err
}

// noteCommitted remembers the highest sequence that this process has committed, to tell how far a failover has set the database back.
func (p *Projector) noteCommitted(sequence uint64) {
	for {
		newest := p.newest.Load()
		if sequence <= newest || p.newest.CompareAndSwap(newest, sequence) {
			return
		}
	}
}
