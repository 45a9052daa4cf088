package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
)

// Candidate is an endpoint that is not registered yet, with its secret.
type Candidate struct {
	id       uuid.UUID
	settings settings
	secret   webhook.Secret
	sealed   webhook.Sealed
}

// NewCandidate returns a candidate with a new secret, sealed by the vault. The URL is one that was checked. The error
// is an [*InvalidError].
func NewCandidate(
	name, url string, target Target, kinds []webhook.Kind, concurrency int, v *webhook.Vault,
) (Candidate, error) {
	c := Candidate{
		id: uuid.New(), secret: webhook.NewSecret(),
		settings: settings{Name: strings.TrimSpace(name), URL: url, Target: target, Kinds: kinds, Concurrency: concurrency,
			State: Adding},
	}
	c.sealed = v.Seal(c.id, []byte(c.secret.Reveal()))
	return c, c.settings.validate()
}

// ID returns the id that the endpoint will have.
func (c Candidate) ID() uuid.UUID { return c.id }

// Secret returns what the endpoint's requests will be signed with.
func (c Candidate) Secret() webhook.Secret { return c.secret }

const insertEndpointSQL = `
	insert into webhook.endpoint (id, name, url, kinds, grant_kind, grant_id, state, concurrency, created_at, secrets)
	values (
	  $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp(),
	  jsonb_build_array($9::jsonb || jsonb_build_object('created_at', now()))
	)`

// Register stores an endpoint in the state [Adding]. From then on projectors record what becomes fetchable.
// [Registry.Activate] must follow: it needs a sequence of the stream that was asked for after this commit.
func (r *Registry) Register(ctx context.Context, c Candidate) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		if err := excludeFanOuts(ctx, tx); err != nil { // and removals, so that their times and this one are in order
			return err
		}

		s := c.settings
		_, err := tx.Exec(
			ctx, insertEndpointSQL, c.id, s.Name, s.URL, s.Kinds, s.Target.Kind, s.Target.ID, s.State, s.Concurrency, c.sealed)
		if err != nil {
			return fmt.Errorf("register webhook endpoint: %w", err)
		}
		return r.record(ctx, tx, "add", c.id, nil, s.audited())
	})
}

// Origin is the identity and the last sequence of a stream when an endpoint is activated.
type Origin struct {
	Stream     uuid.UUID
	Sequence   uint64 // of the last message
	Partitions int
}

const (
	// deleteEarlierSQL: the origin is in the present stream, so what others made fetchable is earlier.
	deleteEarlierSQL = `
		delete from webhook.waiting
		where endpoint_id = $1
		  and not (stream = $2 and sequence > $3)`

	activateSQL = `
		update webhook.endpoint
		set state = 'active', stream = $2, from_sequence = $3
		where id = $1
		  and state = 'adding'`

	// raiseFloorSQL: nothing before the first endpoint is recorded.
	raiseFloorSQL = `
		insert into webhook.floor as f (stream, partition, sequence)
		select $2, partition, $3
		from generate_series(0, $4 - 1) partition
		where not exists (select from webhook.endpoint where id <> $1 and state <> 'removed')
		on conflict (stream, partition) do update
		set sequence = greatest(f.sequence, excluded.sequence)`
)

// Activate makes an endpoint receive the events after an origin. A fan-out that ran since the registration may have
// created deliveries of earlier events, and of a stream that was replaced before, which are deleted.
func (r *Registry) Activate(ctx context.Context, id uuid.UUID, o Origin) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		// No fan-out may create earlier deliveries between the deletion and the commit.
		if err := excludeFanOuts(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deleteEarlierSQL, id, o.Stream, int64(o.Sequence)); err != nil {
			return fmt.Errorf("delete deliveries of earlier events: %w", err)
		}

		tag, err := tx.Exec(ctx, activateSQL, id, o.Stream, int64(o.Sequence))
		switch {
		case err != nil:
			return fmt.Errorf("activate webhook endpoint: %w", err)
		case tag.RowsAffected() == 0:
			return errors.New("the webhook endpoint was removed while it was added")
		}

		if _, err := tx.Exec(ctx, raiseFloorSQL, id, o.Stream, int64(o.Sequence), o.Partitions); err != nil {
			return fmt.Errorf("raise the floor of notices: %w", err)
		}
		return nil
	})
}
