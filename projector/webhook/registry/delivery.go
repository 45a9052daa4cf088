package registry

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
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
	Identifiers Identifiers   `json:"identifiers"`
	State       DeliveryState `json:"state"`
	Attempts    []Attempt     `json:"attempts"` // the oldest first
	NextAt      *time.Time    `json:"nextAt"`   // of the next attempt; nil unless it waits
	Cause       string        `json:"cause"`    // fired, redelivered or replayed
	CreatedAt   time.Time     `json:"createdAt"`
}

// Identifiers are those of the event's data.
type Identifiers struct {
	PhoneSystemID uuid.UUID  `json:"phoneSystemId"`
	CallSid       string     `json:"callSid"`
	RecordingSid  *string    `json:"recordingSid,omitempty"`
	CallLogID     *uuid.UUID `json:"callLogId,omitempty"`
	VoicemailID   *uuid.UUID `json:"voicemailId,omitempty"`
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

// Deliveries returns the newest deliveries of a query, the newest first, and whether there are more. The error is [ErrUnknownEndpoint] if no
// endpoint has the id.
func (r *Registry) Deliveries(ctx context.Context, q Query) (list []Delivery, more bool, err error) {
	list, err = collect(ctx, r, scanDelivery, deliveriesSQL, q.Endpoint, q.State, q.Since, q.Kind, q.CallSid, q.Limit+1)
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

func scanDelivery(row pgx.CollectableRow) (Delivery, error) {
	var d Delivery
	var attempts []byte
	err := row.Scan(
		&d.ID, &d.Event, &d.Kind, &d.Identifiers.PhoneSystemID, &d.Identifiers.CallSid, &d.Identifiers.RecordingSid,
		&d.Identifiers.CallLogID, &d.Identifiers.VoicemailID, &d.State, &d.NextAt, &d.Cause, &d.CreatedAt, &attempts,
	)
	if err != nil {
		return d, err
	}
	d.NextAt, d.CreatedAt = inUTC(d.NextAt), d.CreatedAt.UTC()
	if err := json.Unmarshal(attempts, &d.Attempts); err != nil {
		return d, fmt.Errorf("attempts of delivery %d: %w", d.ID, err)
	}
	for i := range d.Attempts {
		d.Attempts[i].At = d.Attempts[i].At.UTC()
	}
	return d, nil
}
