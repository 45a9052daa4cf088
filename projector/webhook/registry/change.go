package registry

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
)

// The limits of an endpoint's requests at once.
const (
	minConcurrency = 1
	maxConcurrency = 64
)

const maxNameBytes = 200

// settings are an endpoint's row as operators change it and as the audit has it.
type settings struct {
	Name        string         `json:"name"`
	URL         string         `json:"url"`
	Target      Target         `json:"grant"`
	Kinds       []webhook.Kind `json:"kinds"`
	Concurrency int            `json:"concurrency"`
	State       State          `json:"state"`
	Reason      *string        `json:"reason,omitempty"`
	Skipped     *int64         `json:"skipped,omitempty"` // deliveries, by a resumption
	stoppedAt   *time.Time
	secrets     json.RawMessage
}

// audited returns the settings without the URL's query.
func (s settings) audited() settings {
	s.URL = redactURL(s.URL)
	return s
}

func (s settings) validate() error {
	switch {
	case strings.TrimSpace(s.Name) == "" || len(s.Name) > maxNameBytes || !utf8.ValidString(s.Name) ||
		strings.ContainsRune(s.Name, 0):
		return &InvalidError{fmt.Sprintf("the name must have from 1 to %d bytes", maxNameBytes)}
	case s.Concurrency < minConcurrency || s.Concurrency > maxConcurrency:
		return &InvalidError{fmt.Sprintf("the concurrency must be from %d to %d", minConcurrency, maxConcurrency)}

	case len(s.Kinds) == 0:
		return &InvalidError{"at least one kind of event is needed"}
	case s.Target.ID == uuid.Nil:
		return &InvalidError{"a target is needed: name a phone system, a group or an organization by its UUID"}
	}

	return nil
}

const lockEndpointSQL = `
	select name, url, kinds, grant_kind, grant_id, concurrency, state, reason, stopped_at, secrets
	from webhook.endpoint
	where id = $1
	for no key update`

// lock locks an endpoint's row until the transaction ends. The error is [ErrUnknownEndpoint] if none has the id.
func lock(ctx context.Context, tx pgx.Tx, id uuid.UUID) (settings, error) {
	var s settings
	err := tx.QueryRow(ctx, lockEndpointSQL, id).Scan(
		&s.Name, &s.URL, &s.Kinds, &s.Target.Kind, &s.Target.ID, &s.Concurrency, &s.State, &s.Reason, &s.stoppedAt,
		&s.secrets,
	)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s, ErrUnknownEndpoint
	case err != nil:
		return s, fmt.Errorf("lock webhook endpoint: %w", err)
	}
	return s, nil
}

// Changes are the new settings of an endpoint; nil: unchanged.
type Changes struct {
	Name        *string
	URL         *string // checked
	Kinds       []webhook.Kind
	Concurrency *int
}

const setSQL = `update webhook.endpoint set name = $2, url = $3, kinds = $4, concurrency = $5 where id = $1`

// Set changes settings of an endpoint. Events that wait are sent with the new ones, whatever their kind is.
func (r *Registry) Set(ctx context.Context, id uuid.UUID, c Changes) error {
	return r.change(ctx, id, func(tx pgx.Tx, before settings) error {
		after := before.with(c)
		if err := after.validate(); err != nil {
			return err
		}
		return r.update(ctx, tx, "set", before, after, setSQL, id, after.Name, after.URL, after.Kinds, after.Concurrency)
	})
}

// update executes a statement that changes an endpoint, whose id is the first argument, and records it.
func (r *Registry) update(
	ctx context.Context, tx pgx.Tx, command string, before, after settings, sql string, id uuid.UUID, others ...any,
) error {
	if _, err := tx.Exec(ctx, sql, append([]any{id}, others...)...); err != nil {
		return fmt.Errorf("%s webhook endpoint: %w", command, err)
	}
	return r.record(ctx, tx, command, id, before.audited(), after.audited())
}

func (s settings) with(c Changes) settings {
	if c.Name != nil {
		s.Name = strings.TrimSpace(*c.Name)
	}
	if c.URL != nil {
		s.URL = *c.URL
	}

	if c.Kinds != nil {
		s.Kinds = c.Kinds
	}
	if c.Concurrency != nil {
		s.Concurrency = *c.Concurrency
	}

	return s
}

const pauseSQL = `update webhook.endpoint set state = 'paused', stopped_at = now() where id = $1`

// Pause makes an endpoint's deliveries wait. The error wraps [ErrState] unless it is active or paused.
func (r *Registry) Pause(ctx context.Context, id uuid.UUID) error {
	return r.change(ctx, id, func(tx pgx.Tx, before settings) error {
		switch before.State {
		case Paused:
			return nil
		case Disabled:
			return stateError(id, Disabled, "nothing is sent to it already")

		case Adding:
			return interrupted(id)
		case Active, Removed: // a removed one is refused before
		}

		after := before
		after.State = Paused
		return r.update(ctx, tx, "pause", before, after, pauseSQL, id)
	})
}

func interrupted(id uuid.UUID) error {
	return stateError(id, Adding, "if the command that adds it has ended, remove it and add it again")
}

const (
	resumeSQL = `
		update webhook.endpoint
		set
		  state = 'active', reason = null, stopped_at = null,
		  failures = 0, failing_since = null, probe_at = null, slots = null
		where id = $1`

	// dueSQL gives waiting deliveries back the time for which the endpoint was stopped, since $2. Where no attempt was
	// made, that of the last one follows from due_at. All are due now, except for replayed ones, which stay apart.
	dueSQL = `
		update webhook.waiting
		set
		  due_at = least(
		    due_at + (now() - greatest(created_at, coalesce($2::timestamptz, now()))),
		    case when cause = 'replayed' and tries = 0 then 'infinity' else now() end
		  ),
		  expires_at = expires_at + (now() - coalesce($2::timestamptz, now()))
		where endpoint_id = $1`
)

// Resume sends what waits for a paused or disabled endpoint, the oldest first. An active one is left as it is. skipped
// is for the audit: how many deliveries were skipped before; nil: what waits was left. The error wraps [ErrState] in the
// other states.
func (r *Registry) Resume(ctx context.Context, id uuid.UUID, skipped *int64) error {
	return r.change(ctx, id, func(tx pgx.Tx, before settings) error {
		switch before.State {
		case Active:
			return nil
		case Adding:
			return interrupted(id)
		case Paused, Disabled, Removed: // a removed one is refused before
		}

		// Deliveries get back the time for which the endpoint was stopped.
		if _, err := tx.Exec(ctx, dueSQL, id, before.stoppedAt); err != nil {
			return fmt.Errorf("make deliveries due: %w", err)
		}

		after := before
		after.State, after.Reason, after.Skipped = Active, nil, skipped
		return r.update(ctx, tx, "resume", before, after, resumeSQL, id)
	})
}

// skipSlice bounds the rows of a transaction that skips deliveries.
const skipSlice = 10_000

//go:embed skip.sql
var skipSQL string

// Skip skips some of the deliveries that wait for a paused, disabled or removed endpoint, and returns how many. more:
// there may be others. The error wraps [ErrState] in the other states.
func (r *Registry) Skip(ctx context.Context, id uuid.UUID) (count int64, more bool, err error) {
	err = r.inTx(ctx, func(tx pgx.Tx) error {
		before, err := lock(ctx, tx, id) // senders lock endpoints before deliveries, too
		switch {
		case err != nil:
			return err

		case before.State == Active:
			return stateError(id, Active, "pause it first to skip what waits")
		case before.State == Adding:
			return interrupted(id)
		}

		tag, err := tx.Exec(ctx, skipSQL, id, skipSlice)
		if err != nil {
			return fmt.Errorf("skip deliveries: %w", err)
		}

		count = tag.RowsAffected()
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	return count, count == skipSlice, nil
}

const removeSQL = `
	update webhook.endpoint
	set state = 'removed', reason = null, stopped_at = clock_timestamp()
	where id = $1`

// Remove removes an endpoint. [Registry.Skip] must follow. With the last endpoint, the recording of notices ends.
// Removing an endpoint twice is no error.
func (r *Registry) Remove(ctx context.Context, id uuid.UUID) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		if err := excludeFanOuts(ctx, tx); err != nil { // one that runs could create another delivery
			return err
		}

		before, err := lock(ctx, tx, id)
		if err != nil || before.State == Removed {
			return err
		}

		after := before
		after.State, after.Reason = Removed, nil
		return r.update(ctx, tx, "remove", before, after, removeSQL, id)
	})
}

// maxOverlap bounds the time in which two secrets sign.
const maxOverlap = 30 * 24 * time.Hour

// maxSecrets bounds the signatures of a request. Receivers compare 16 at most.
const maxSecrets = 10

// addSecretSQL leaves out secrets that have expired, and returns how many there are now.
const addSecretSQL = `
	update webhook.endpoint e
	set secrets = jsonb_build_array($2::jsonb || jsonb_build_object('created_at', now())) || (
	  select coalesce(jsonb_agg(s || jsonb_build_object('expires_at', until) order by n), '[]')
	  from jsonb_array_elements(e.secrets) with ordinality former (s, n)
	  cross join least((s->>'expires_at')::timestamptz, now() + $3::interval) until
	  where until > now()
	)
	where id = $1
	returning jsonb_array_length(secrets)`

// Rotate gives an endpoint a new secret, sealed by the vault. The former ones expire after the overlap, and at once if
// it is zero.
func (r *Registry) Rotate(
	ctx context.Context, id uuid.UUID, overlap time.Duration, v *webhook.Vault,
) (webhook.Secret, error) {
	if overlap < 0 || overlap > maxOverlap {
		return webhook.Secret{}, &InvalidError{fmt.Sprintf("the overlap must be from 0s to %gh", maxOverlap.Hours())}
	}

	secret := webhook.NewSecret()
	sealed := v.Seal(id, []byte(secret.Reveal()))

	err := r.change(ctx, id, func(tx pgx.Tx, _ settings) error {
		var count int
		err := tx.QueryRow(ctx, addSecretSQL, id, sealed, overlap).Scan(&count)
		switch {
		case err != nil:
			return fmt.Errorf("rotate secret: %w", err)
		case count > maxSecrets:
			// The error rolls the new secret back.
			return fmt.Errorf("rotate secret: %d secrets are valid already: wait until some expire, or use --overlap 0s",
				maxSecrets)
		}

		return r.record(ctx, tx, "rotate", id, nil, map[string]any{"secret": sealed.ID, "overlap": overlap.String()})
	})
	if err != nil {
		return webhook.Secret{}, err
	}
	return secret, nil
}
