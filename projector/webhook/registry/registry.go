// Package registry registers webhook endpoints for operators, shows them and their deliveries, and repeats deliveries.
//
// It writes tables and sends nothing. Every change of an endpoint is recorded in webhook.audit, in the transaction of
// the change.
package registry

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/webhook"
)

// Registry registers endpoints and changes them for one person. It is safe for concurrent use.
type Registry struct {
	pool *pgxpool.Pool
	by   string
}

// New returns a registry. The pool connects as callboard_operator. The audit says that by, a person, made the changes.
func New(pool *pgxpool.Pool, by string) *Registry { return &Registry{pool: pool, by: by} }

// ErrUnknownEndpoint is returned for an id that no endpoint has.
var ErrUnknownEndpoint = errors.New("no webhook endpoint has this id")

// InvalidError says what is wrong with a request. Nothing was changed.
type InvalidError struct {
	Detail string
}

// Error returns the detail.
func (e *InvalidError) Error() string { return e.Detail }

// ErrState is wrapped where the state of an endpoint excludes a change.
var ErrState = errors.New("webhook endpoint")

func stateError(id uuid.UUID, state State, advice string) error {
	return fmt.Errorf("%w %s is %s: %s", ErrState, id, state, advice)
}

// inTx does work in a transaction whose statements see what others have committed before each of them.
func (r *Registry) inTx(ctx context.Context, work func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, work)
}

// change does work in a transaction that has locked an endpoint. The error wraps [ErrState] if the endpoint was
// removed.
func (r *Registry) change(ctx context.Context, id uuid.UUID, work func(tx pgx.Tx, before settings) error) error {
	return r.inTx(ctx, func(tx pgx.Tx) error {
		before, err := lock(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case before.State == Removed:
			return stateError(id, Removed, "add another one")
		}
		return work(tx, before)
	})
}

// The keys of the advisory lock that a fan-out holds shared. A command that determines from which sequence on an
// endpoint gets events holds it exclusively, so that no fan-out creates deliveries for the endpoint meanwhile.
const (
	FanOutLockClass = 0x686f6f6b
	FanOutLock      = -1
)

// excludeFanOuts waits until the running fan-outs have ended. The next one begins after the transaction and sees its
// changes.
func excludeFanOuts(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, $2)", FanOutLockClass, FanOutLock); err != nil {
		return fmt.Errorf("wait for the fan-outs: %w", err)
	}
	return nil
}

const insertAuditSQL = `insert into webhook.audit (by, command, endpoint_id, before, after) values ($1, $2, $3, $4, $5)`

// record writes an audit row. before and after are stored as JSON and hold no secret; nil: none.
func (r *Registry) record(ctx context.Context, tx pgx.Tx, command string, endpoint uuid.UUID, before, after any) error {
	if _, err := tx.Exec(ctx, insertAuditSQL, r.by, command, endpoint, before, after); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// redactURL replaces the query of a URL, which can be a secret of the receiver.
func redactURL(url string) string {
	if base, _, found := strings.Cut(url, "?"); found {
		return base + "?…"
	}
	return url
}

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
