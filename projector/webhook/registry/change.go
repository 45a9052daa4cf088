package registry

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const pauseSQL = `update webhook.endpoint set state = 'paused', stopped_at = now() where id = $1`

// Pause makes an endpoint's deliveries wait. The error is a [*StateError] unless it is active or paused.
func (r *Registry) Pause(ctx context.Context, id uuid.UUID) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		before, err := lockUnlessRemoved(ctx, tx, id)
		switch {
		case err != nil || before.State == Paused:
			return err
		case before.State == Disabled:
			return &StateError{id, before.State, "nothing is sent to it already"}
		case before.State == Adding:
			return interrupted(id)
		}
		if _, err := tx.Exec(ctx, pauseSQL, id); err != nil {
			return fmt.Errorf("pause webhook endpoint: %w", err)
		}
		after := before
		after.State = Paused
		return r.record(ctx, tx, "pause", id, before.audited(), after.audited())
	})
}

func interrupted(id uuid.UUID) error {
	return &StateError{id, Adding, "if the command that adds it has ended, remove it and add it again"}
}

const (
	resumeSQL = `
		update webhook.endpoint
		set state = 'active', reason = null, stopped_at = null, failures = 0, failing_since = null
		where id = $1`

	// dueSQL gives waiting deliveries back the time for which the endpoint was stopped, since $2. Where no attempt was made, that of the last
	// one follows from due_at. All are due now, except for replayed ones, which stay apart.
	dueSQL = `
		update webhook.delivery
		set
		  due_at = least(
		    due_at + (now() - greatest(created_at, coalesce($2::timestamptz, now()))),
		    case when cause = 'replayed' and attempts = 0 then 'infinity' else now() end
		  ),
		  expires_at = expires_at + (now() - coalesce($2::timestamptz, now()))
		where endpoint_id = $1`
)

// Resume sends what waits for a paused or disabled endpoint, the oldest first. An active one is left as it is. The error is a [*StateError]
// for the other states.
func (r *Registry) Resume(ctx context.Context, id uuid.UUID) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		before, err := lockUnlessRemoved(ctx, tx, id)
		switch {
		case err != nil || before.State == Active:
			return err
		case before.State == Adding:
			return interrupted(id)
		}
		if _, err := tx.Exec(ctx, dueSQL, id, before.stoppedAt); err != nil {
			return fmt.Errorf("make deliveries due: %w", err)
		}
		return r.resume(ctx, tx, id, before, nil)
	})
}

// resumed is the audit's state after a resumption that skipped deliveries.
type resumed struct {
	settings
	Skipped int64 `json:"skipped"`
}

func (r *Registry) resume(ctx context.Context, tx pgx.Tx, id uuid.UUID, before settings, skipped *int64) error {
	if _, err := tx.Exec(ctx, resumeSQL, id); err != nil {
		return fmt.Errorf("resume webhook endpoint: %w", err)
	}
	after := before.audited()
	after.State, after.Reason = Active, nil
	if skipped != nil {
		return r.record(ctx, tx, "resume", id, before.audited(), resumed{after, *skipped})
	}
	return r.record(ctx, tx, "resume", id, before.audited(), after)
}

// skipSlice bounds the rows of a transaction that skips deliveries.
const skipSlice = 10_000

//go:embed skip.sql
var skipSQL string

// skip moves up to a slice of waiting deliveries to the finished ones, as skipped.
func skip(ctx context.Context, tx pgx.Tx, id uuid.UUID) (int64, error) {
	tag, err := tx.Exec(ctx, skipSQL, id, skipSlice)
	if err != nil {
		return 0, fmt.Errorf("skip deliveries: %w", err)
	}
	return tag.RowsAffected(), nil
}

// SkipAndResume skips the waiting deliveries of a paused or disabled endpoint, then resumes it. It calls onSkipped after each slice and
// returns how many deliveries it has skipped, also with an error: those stay skipped.
func (r *Registry) SkipAndResume(ctx context.Context, id uuid.UUID, onSkipped func(total int64)) (total int64, err error) {
	for done := false; !done; {
		err := r.inTx(ctx, func(tx pgx.Tx) error {
			before, err := lockUnlessRemoved(ctx, tx, id)
			switch {
			case err != nil:
				return err
			case before.State == Active:
				return &StateError{id, before.State, "pause it first to skip what waits"}
			case before.State == Adding:
				return interrupted(id)
			}
			n, err := skip(ctx, tx, id)
			if err != nil {
				return err
			}
			total += n
			if done = n < skipSlice; !done {
				return nil
			}
			return r.resume(ctx, tx, id, before, &total)
		})
		if err != nil {
			return total, err
		}
		onSkipped(total)
	}
	return total, nil
}

const (
	removeSQL = `
		update webhook.endpoint
		set state = 'removed', reason = null, stopped_at = now()
		where id = $1`

	closePeriodSQL = `
		update webhook.period
		set until = now()
		where until is null
		  and not exists (select from webhook.endpoint where state <> 'removed')`
)

// Remove removes an endpoint, skips what waits for it, and returns how many deliveries it has skipped. With the last endpoint, the recording
// of notices ends. Removing an endpoint twice is no error: it goes on where the first command was interrupted.
func (r *Registry) Remove(ctx context.Context, id uuid.UUID, onSkipped func(total int64)) (total int64, err error) {
	err = r.inTx(ctx, func(tx pgx.Tx) error {
		if err := excludeFanOuts(ctx, tx); err != nil { // one that runs could create another delivery
			return err
		}
		before, err := lock(ctx, tx, id)
		if err != nil || before.State == Removed {
			return err
		}
		if _, err := tx.Exec(ctx, removeSQL, id); err != nil {
			return fmt.Errorf("remove webhook endpoint: %w", err)
		}
		if _, err := tx.Exec(ctx, closePeriodSQL); err != nil {
			return fmt.Errorf("end the recording of notices: %w", err)
		}
		after := before
		after.State, after.Reason = Removed, nil
		return r.record(ctx, tx, "remove", id, before.audited(), after.audited())
	})
	for n := int64(skipSlice); err == nil && n == skipSlice; {
		err = r.inTx(ctx, func(tx pgx.Tx) (err error) {
			if _, err = lock(ctx, tx, id); err != nil { // senders lock endpoints before deliveries, too
				return err
			}
			n, err = skip(ctx, tx, id)
			return err
		})
		total += n
		onSkipped(total)
	}
	return total, err
}
