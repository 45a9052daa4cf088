package registry

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/events/webhook"
)

// DeliveryState is what became of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	Waiting   DeliveryState = "waiting"
	Delivered DeliveryState = "delivered"
	Dead      DeliveryState = "dead"    // every attempt failed
	Skipped   DeliveryState = "skipped" // an operator resumed the endpoint without it, or removed the endpoint
)

// Delivery is one event for one endpoint.
type Delivery struct {
	ID          int64         `json:"delivery,string"`
	Event       string        `json:"event"`
	Kind        webhook.Kind  `json:"kind"`
	Identifiers webhook.Data  `json:"identifiers"`
	State       DeliveryState `json:"state"`
	Attempts    []Attempt     `json:"attempts"` // the oldest first
	NextAt      *time.Time    `json:"nextAt"`   // of the next attempt; nil unless it waits
	Cause       string        `json:"cause"`    // fired, redelivered or replayed
	CreatedAt   time.Time     `json:"createdAt"`
}

// Attempt is one request.
type Attempt struct {
	At     time.Time `json:"at"`
	Status *int      `json:"status"` // nil: no answer
	Error  *string   `json:"error"`  // nil: answered 2xx
	Answer *string   `json:"answer,omitempty"`
	MS     int       `json:"ms"`
}

// Query selects deliveries of an endpoint.
type Query struct {
	Endpoint uuid.UUID
	State    DeliveryState // empty: any
	Since    time.Time     // by creation; zero: all that are kept
	Kind     webhook.Kind  // empty: any
	CallSid  string        // empty: any
	Limit    int
}

//go:embed deliveries.sql
var deliveriesSQL string

// Deliveries returns the newest deliveries of a query, the newest first, and whether there are more. The error is
// [ErrUnknownEndpoint] if no endpoint has the id.
func (r *Registry) Deliveries(ctx context.Context, q Query) (list []Delivery, more bool, err error) {
	list, err = collect[Delivery](ctx, r, deliveriesSQL, q.Endpoint, q.State, q.Since, q.Kind, q.CallSid, q.Limit+1)
	if err == nil && len(list) == 0 {
		err = r.checkExists(ctx, q.Endpoint)
	}
	if err != nil {
		return nil, false, fmt.Errorf("deliveries: %w", err)
	}
	if more = len(list) > q.Limit; more {
		list = list[:q.Limit]
	}
	return list, more, nil
}

func (r *Registry) checkExists(ctx context.Context, id uuid.UUID) error {
	var exists bool
	err := r.pool.QueryRow(ctx, "select exists (select from webhook.endpoint where id = $1)", id).Scan(&exists)
	if err == nil && !exists {
		return ErrUnknownEndpoint
	}
	return err
}

// ErrUnknownDelivery is wrapped by the error about ids that no delivery has.
var ErrUnknownDelivery = errors.New("no webhook delivery has the ID")

const (
	// finishedIDsSQL is empty for a state that no delivery of the endpoint is in.
	finishedIDsSQL = `
		select coalesce(array_agg(id), '{}')
		from webhook.finished
		where endpoint_id = $1
		  and state = $2
		  and finished_at >= $3`

	// removedAmongSQL keeps the endpoints of deliveries from being removed meanwhile: a removal would not skip what is
	// added after it.
	removedAmongSQL = `
		select id
		from (
		  select id, state
		  from webhook.endpoint
		  where id in (select endpoint_id from webhook.delivery where id = any($1))
		  order by id
		  for share
		) e
		where state = 'removed'`
)

//go:embed redeliver.sql
var redeliverSQL string

// Redeliver sends deliveries again: the same events, with all attempts. Those that wait are due now. The error wraps
// [ErrUnknownDelivery], or [ErrState] for deliveries of a removed endpoint; nothing was changed then.
func (r *Registry) Redeliver(ctx context.Context, ids []int64) (count int, err error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	err = r.inTx(ctx, func(tx pgx.Tx) error { return r.redeliver(ctx, tx, ids) })
	if err != nil {
		return 0, err
	}
	return len(ids), nil
}

// RedeliverState sends again what ended in a state since an instant.
func (r *Registry) RedeliverState(
	ctx context.Context, endpoint uuid.UUID, state DeliveryState, since time.Time,
) (count int, err error) {
	err = r.change(ctx, endpoint, func(tx pgx.Tx, _ settings) error {
		var ids []int64
		if err := tx.QueryRow(ctx, finishedIDsSQL, endpoint, state, since).Scan(&ids); err != nil {
			return fmt.Errorf("deliveries in the state %s: %w", state, err)
		}
		count = len(ids)
		return r.redeliver(ctx, tx, ids)
	})
	return count, err
}

// redeliver redelivers ids, none of which is there twice.
func (r *Registry) redeliver(ctx context.Context, tx pgx.Tx, ids []int64) error {
	rows, _ := tx.Query(ctx, removedAmongSQL, ids)
	removed, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	switch {
	case err != nil:
		return fmt.Errorf("endpoints of deliveries: %w", err)
	case len(removed) > 0:
		return stateError(removed[0], Removed, "nothing is sent to it any more")
	}

	rows, _ = tx.Query(ctx, redeliverSQL, ids, r.by)
	unknown, err := pgx.CollectRows(rows, pgx.RowTo[string])
	switch {
	case err != nil:
		return fmt.Errorf("redeliver: %w", err)
	case len(unknown) > 0:
		return fmt.Errorf("%w %s", ErrUnknownDelivery, strings.Join(unknown, ", "))
	}
	return nil
}

// Replay selects what became fetchable in a range of time.
type Replay struct {
	Endpoint uuid.UUID
	Since    time.Time
	Until    time.Time      // exclusive
	Kinds    []webhook.Kind // nil: those of the endpoint
	Days     int            // for how many days notices are kept
}

var (
	//go:embed covered_systems.sql
	coveredSystemsSQL string

	//go:embed replay.sql
	replaySQL string
)

// recordedSinceSQL returns when the last endpoint was added before which there was none. From the first endpoint on,
// until the last one is removed, notices are recorded.
const recordedSinceSQL = `
	select max(e.created_at)
	from webhook.endpoint e
	where not exists (
	  select
	  from webhook.endpoint other
	  where other.created_at < e.created_at
	    and (other.state <> 'removed' or other.stopped_at >= e.created_at)
	)`

// Replay creates deliveries of all notices in a range, whether they were delivered before or not, and returns their
// number. With dryRun it only counts. Which phone systems the target covers is looked up now. The error wraps
// [ErrNotKept], or is an [*InvalidError] where a kind is none of the endpoint's.
func (r *Registry) Replay(ctx context.Context, p Replay, dryRun bool) (count int64, err error) {
	err = r.change(ctx, p.Endpoint, func(tx pgx.Tx, before settings) error {
		if err := p.complete(before); err != nil {
			return err
		}
		if err := p.checkKept(ctx, tx); err != nil {
			return err
		}

		systems, err := coveredSystems(ctx, tx, before.Target)
		if err != nil {
			return err
		}

		err = tx.QueryRow(ctx, replaySQL, systems, p.Since, p.Until, p.Kinds, p.Endpoint, dryRun).Scan(&count)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}

		if dryRun {
			return nil
		}
		return r.record(ctx, tx, "replay", p.Endpoint, nil, map[string]any{
			"since": p.Since.UTC(), "until": p.Until.UTC(), "kinds": p.Kinds, "deliveries": count,
		})
	})
	return count, err
}

func coveredSystems(ctx context.Context, tx pgx.Tx, target Target) ([]uuid.UUID, error) {
	rows, _ := tx.Query(ctx, coveredSystemsSQL, target.Kind, target.ID)
	systems, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("phone systems: %w", err)
	}
	return systems, nil
}

// complete sets the kinds, and checks them.
func (p *Replay) complete(s settings) error {
	if p.Kinds == nil {
		p.Kinds = s.Kinds
	}

	for _, kind := range p.Kinds {
		if !slices.Contains(s.Kinds, kind) {
			return &InvalidError{fmt.Sprintf(
				"the endpoint is not registered for %s: change that first by 'webhooks set --kinds'", kind)}
		}
	}

	if !p.Since.Before(p.Until) {
		return &InvalidError{"the range is empty: its end must be after its beginning"}
	}
	return nil
}

// ErrNotKept is wrapped where a range begins before the notices that are kept.
var ErrNotKept = errors.New("replay: the range begins before what is kept")

func (p *Replay) checkKept(ctx context.Context, tx pgx.Tx) error {
	var since time.Time
	if err := tx.QueryRow(ctx, recordedSinceSQL).Scan(&since); err != nil {
		return fmt.Errorf("beginning of the recording of notices: %w", err)
	}

	// Notices begin with the first endpoint or with the stored history: the later of the two counts.
	since = since.Add(time.Second - 1).Truncate(time.Second) // the error has whole seconds
	why := "events are recorded while there is an endpoint"
	if oldest := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -p.Days); oldest.After(since) {
		since, why = oldest, fmt.Sprintf("events are kept for %d days", p.Days)
	}

	if p.Since.Before(since) {
		return fmt.Errorf("%w: %s; begin at %s or later", ErrNotKept, why, since.UTC().Format(time.RFC3339))
	}
	return nil
}
