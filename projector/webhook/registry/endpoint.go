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

// State is what an endpoint does.
type State string

// The states.
const (
	Adding   State = "adding" // registered, but not from which sequence on: deliveries wait
	Active   State = "active"
	Paused   State = "paused"   // by an operator: deliveries wait
	Disabled State = "disabled" // by a sender: deliveries wait
	Removed  State = "removed"  // nothing is sent any more; the history is kept for its days
)

// Target is whose events an endpoint receives.
type Target struct {
	Kind TargetKind `json:"kind"`
	ID   uuid.UUID  `json:"id"`
}

// TargetKind is the kind of a target.
type TargetKind string

// The kinds of target.
const (
	System       TargetKind = "system"       // one phone system
	Group        TargetKind = "group"        // the current members of a phone system group
	Organization TargetKind = "organization" // the phone systems that are directly attached to an organization
)

// Endpoint is a registered URL with statistics of its deliveries.
type Endpoint struct {
	ID            uuid.UUID      `json:"id"`
	URL           string         `json:"url"` // without its query
	Name          string         `json:"name"`
	Target        Target         `json:"grant"`
	Kinds         []webhook.Kind `json:"kinds"`
	State         State          `json:"state"`
	Reason        *string        `json:"reason"` // of Disabled
	Concurrency   int            `json:"concurrency"`
	Waiting       int64          `json:"waiting"`
	Dead          int64          `json:"dead"`
	LastSuccessAt *time.Time     `json:"lastSuccessAt"`
	LastFailureAt *time.Time     `json:"lastFailureAt"`
	SuccessRate   *float64       `json:"successRate"` // of the attempts of 24 hours, from 0 to 1; nil without any
	P50           *int           `json:"p50Ms"`       // of the successful ones
	P99           *int           `json:"p99Ms"`
	CreatedAt     time.Time      `json:"createdAt"`
}

// Interrupted reports whether the command that adds the endpoint has ended before it was done.
func (e Endpoint) Interrupted(now time.Time) bool {
	return e.State == Adding && now.Sub(e.CreatedAt) > time.Minute
}

// Secret is a signing secret without its content.
type Secret struct {
	ID        uuid.UUID  `json:"id"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt"` // nil: current
}

// Change is a row of the audit.
type Change struct {
	At      time.Time       `json:"at"`
	Role    string          `json:"role"`
	By      string          `json:"by"`
	Command string          `json:"command"`
	Before  json.RawMessage `json:"before"` // null: none
	After   json.RawMessage `json:"after"`
}

// Detail is an endpoint with its secrets, the newest first, and its newest changes.
type Detail struct {
	Endpoint
	Secrets []Secret `json:"secrets"`
	Changes []Change `json:"audit"`
}

//go:embed endpoints.sql
var endpointsSQL string

// List returns every endpoint, the newest first.
func (r *Registry) List(ctx context.Context) ([]Endpoint, error) {
	list, err := collect[Endpoint](ctx, r, endpointsSQL, nil)
	if err != nil {
		return nil, fmt.Errorf("list webhook endpoints: %w", err)
	}
	for i := range list {
		list[i].URL = redactURL(list[i].URL)
	}
	return list, nil
}

// Show returns an endpoint. The error is [ErrUnknownEndpoint] if none has the id.
func (r *Registry) Show(ctx context.Context, id uuid.UUID) (Detail, error) {
	found, err := collect[Detail](ctx, r, endpointsSQL, id)
	switch {
	case err != nil:
		return Detail{}, fmt.Errorf("show webhook endpoint: %w", err)
	case len(found) == 0:
		return Detail{}, ErrUnknownEndpoint
	}
	found[0].URL = redactURL(found[0].URL)
	return found[0], nil
}

// collect returns the rows of a query, each of which is a JSON object, and no nil slice.
func collect[T any](ctx context.Context, r *Registry, sql string, arguments ...any) ([]T, error) {
	rows, _ := r.pool.Query(ctx, sql, arguments...)
	return pgx.AppendRows([]T{}, rows, pgx.RowTo[T])
}
