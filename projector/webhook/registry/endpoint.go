package registry

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
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

// Conditions for endpoints.sql.
const (
	everyEndpoint = "true"
	oneEndpoint   = "e.id = $1"
)

var (
	//go:embed endpoints.sql
	endpointsSQL string

	//go:embed secrets.sql
	secretsSQL string

	//go:embed changes.sql
	changesSQL string
)

// List returns every endpoint, the newest first.
func (r *Registry) List(ctx context.Context) ([]Endpoint, error) {
	list, err := r.endpoints(ctx, everyEndpoint)
	if err != nil {
		return nil, fmt.Errorf("list webhook endpoints: %w", err)
	}
	return list, nil
}

// Show returns an endpoint. The error is [ErrUnknownEndpoint] if none has the id.
func (r *Registry) Show(ctx context.Context, id uuid.UUID) (Detail, error) {
	found, err := r.endpoints(ctx, oneEndpoint, id)
	switch {
	case err != nil:
		return Detail{}, fmt.Errorf("show webhook endpoint: %w", err)
	case len(found) == 0:
		return Detail{}, ErrUnknownEndpoint
	}
	detail := Detail{Endpoint: found[0]}
	if detail.Secrets, err = collect(ctx, r, scanSecret, secretsSQL, id); err != nil {
		return Detail{}, fmt.Errorf("secrets of a webhook endpoint: %w", err)
	}
	if detail.Changes, err = collect(ctx, r, scanChange, changesSQL, id); err != nil {
		return Detail{}, fmt.Errorf("audit of a webhook endpoint: %w", err)
	}
	return detail, nil
}

func (r *Registry) endpoints(ctx context.Context, condition string, arguments ...any) ([]Endpoint, error) {
	return collect(ctx, r, scanEndpoint, strings.Replace(endpointsSQL, "{{condition}}", condition, 1), arguments...)
}

// collect returns the rows of a query, and no nil slice.
func collect[T any](ctx context.Context, r *Registry, scan pgx.RowToFunc[T], sql string, arguments ...any) ([]T, error) {
	rows, _ := r.pool.Query(ctx, sql, arguments...)
	return pgx.AppendRows([]T{}, rows, scan)
}

func scanEndpoint(row pgx.CollectableRow) (Endpoint, error) {
	var e Endpoint
	err := row.Scan(
		&e.ID, &e.Name, &e.URL, &e.Kinds, &e.Target.Kind, &e.Target.ID, &e.State, &e.Reason, &e.Concurrency, &e.LastSuccessAt,
		&e.LastFailureAt, &e.CreatedAt, &e.Waiting, &e.Dead, &e.SuccessRate, &e.P50, &e.P99,
	)
	e.URL, e.CreatedAt = redactURL(e.URL), e.CreatedAt.UTC()
	e.LastSuccessAt, e.LastFailureAt = inUTC(e.LastSuccessAt), inUTC(e.LastFailureAt)
	return e, err
}

func scanSecret(row pgx.CollectableRow) (Secret, error) {
	var s Secret
	err := row.Scan(&s.ID, &s.CreatedAt, &s.ExpiresAt)
	s.CreatedAt, s.ExpiresAt = s.CreatedAt.UTC(), inUTC(s.ExpiresAt)
	return s, err
}

func scanChange(row pgx.CollectableRow) (Change, error) {
	var c Change
	var before, after *string
	err := row.Scan(&c.At, &c.Role, &c.By, &c.Command, &before, &after)
	c.At, c.Before, c.After = c.At.UTC(), rawJSON(before), rawJSON(after)
	return c, err
}

func rawJSON(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}
