package projector

import (
	"context"
	"time"

	"callboard/events"
	"callboard/projector/store"
)

// journalInterval is the interval at which the journal is read. Once would do for the database. But a NATS server that
// lags, or that does not know yet that it leads no more, may not have had the newest entries.
const journalInterval = 30 * time.Second

// journalActor applies key revocations and expiries again that the database has lost. A failover breaks the session's
// connection, so each session begins with it.
type journalActor struct {
	projector *Projector
	reader    events.KeyEndReader
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
	unreadable, err := a.reader.Read(ctx, a.projector.config.JetStream, func(entries []events.KeyEnd) error {
		return withApplyTimeout(ctx, func(ctx context.Context) error { return a.withdraw(ctx, entries) })
	})
	a.projector.metrics.journalRead(err == nil)
	if unreadable > 0 {
		a.projector.config.Log.Error().Int("messages", unreadable).Msg("messages of the journal of revoked keys not readable")
	}
	return err
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
