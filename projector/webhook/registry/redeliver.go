package registry

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// UnknownDeliveryError names ids that no delivery has.
type UnknownDeliveryError struct {
	IDs []int64
}

// Error lists the ids.
func (e *UnknownDeliveryError) Error() string {
	texts := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return "no webhook delivery has the ID " + strings.Join(texts, ", ")
}

const (
	// finishedIDsSQL is empty for a state that no delivery of the endpoint is in.
	finishedIDsSQL = `
		select coalesce(array_agg(id), '{}')
		from webhook.finished
		where endpoint_id = $1
		  and state = $2
		  and finished_at >= $3`

	// dueNowSQL is for deliveries that wait already.
	dueNowSQL = `update webhook.delivery set due_at = least(due_at, now()) where id = any($1) returning id`

	// endpointsOfSQL keeps the endpoints from being removed meanwhile: a removal would not skip what is added after it.
	endpointsOfSQL = `
		select id, state
		from webhook.endpoint
		where id in (
		  select endpoint_id from webhook.delivery where id = any($1)
		  union all
		  select endpoint_id from webhook.finished where id = any($1)
		)
		order by id
		for share`
)

//go:embed redeliver.sql
var redeliverSQL string

// redelivery is the audit's state after a redelivery.
type redelivery struct {
	Deliveries int `json:"deliveries"`
}

// Redeliver sends deliveries again: the same events, with all attempts. Those that wait are due now. The error is an [*UnknownDeliveryError],
// or a [*StateError] for deliveries of a removed endpoint; nothing was changed then.
func (r *Registry) Redeliver(ctx context.Context, ids []int64) (count int, err error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	err = r.inTx(ctx, func(tx pgx.Tx) error {
		count, err = r.redeliver(ctx, tx, ids)
		return err
	})
	return count, err
}

// RedeliverState sends again what ended in a state since an instant.
func (r *Registry) RedeliverState(ctx context.Context, endpoint uuid.UUID, state DeliveryState, since time.Time) (count int, err error) {
	err = r.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockUnlessRemoved(ctx, tx, endpoint); err != nil {
			return err
		}
		var ids []int64
		if err := tx.QueryRow(ctx, finishedIDsSQL, endpoint, state, since).Scan(&ids); err != nil {
			return fmt.Errorf("deliveries in the state %s: %w", state, err)
		}
		count, err = r.redeliver(ctx, tx, ids)
		return err
	})
	return count, err
}

// redeliver returns how many deliveries it has redelivered. ids has no id twice.
func (r *Registry) redeliver(ctx context.Context, tx pgx.Tx, ids []int64) (int, error) {
	if err := checkEndpointsOf(ctx, tx, ids); err != nil {
		return 0, err
	}
	done, err := due(ctx, tx, ids)
	if err != nil {
		return 0, fmt.Errorf("make deliveries due: %w", err)
	}
	byEndpoint := make(map[uuid.UUID]int)
	var id int64
	var endpoint uuid.UUID
	rows, _ := tx.Query(ctx, redeliverSQL, ids)
	_, err = pgx.ForEachRow(rows, []any{&id, &endpoint}, func() error {
		done[id] = true
		byEndpoint[endpoint]++
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("redeliver: %w", err)
	}
	if unknown := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return done[id] }); len(unknown) > 0 {
		return 0, &UnknownDeliveryError{unknown}
	}
	for endpoint, n := range byEndpoint {
		if err := r.record(ctx, tx, "redeliver", endpoint, nil, redelivery{n}); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// due makes those of the deliveries due that wait, and returns their ids.
func due(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64]bool, error) {
	waiting := make(map[int64]bool)
	var id int64
	rows, _ := tx.Query(ctx, dueNowSQL, ids)
	_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
		waiting[id] = true
		return nil
	})
	return waiting, err
}

func checkEndpointsOf(ctx context.Context, tx pgx.Tx, ids []int64) error {
	var id uuid.UUID
	var state State
	rows, _ := tx.Query(ctx, endpointsOfSQL, ids)
	_, err := pgx.ForEachRow(rows, []any{&id, &state}, func() error {
		if state == Removed {
			return &StateError{id, state, "nothing is sent to it any more"}
		}
		return nil
	})
	return err
}
