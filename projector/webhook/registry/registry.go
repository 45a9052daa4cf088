package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/projector/webhook/fanout"
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

// StateError is returned where the state of an endpoint excludes a change.
type StateError struct {
	ID     uuid.UUID
	State  State
	Advice string
}

// Error names the endpoint and its state, and what to do.
func (e *StateError) Error() string {
	return fmt.Sprintf("webhook endpoint %s is %s: %s", e.ID, e.State, e.Advice)
}

// inTx does work in a transaction whose statements see what others have committed before each of them.
func (r *Registry) inTx(ctx context.Context, work func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, work)
}

// excludeFanOuts waits until the running fan-outs have ended. The next one begins after the transaction and sees its changes.
func excludeFanOuts(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, $2)", fanout.LockClass, fanout.ActivationLock); err != nil {
		return fmt.Errorf("wait for the fan-outs: %w", err)
	}
	return nil
}

const insertAuditSQL = `insert into webhook.audit (by, command, endpoint_id, before, after) values ($1, $2, $3, $4, $5)`

// record writes an audit row. before and after are encoded as JSON and hold no secret; nil: none.
func (r *Registry) record(ctx context.Context, tx pgx.Tx, command string, endpoint uuid.UUID, before, after any) error {
	texts := make([]*string, 2)
	for i, state := range []any{before, after} {
		if state == nil {
			continue
		}
		encoded, err := json.Marshal(state)
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		text := string(encoded)
		texts[i] = &text
	}
	if _, err := tx.Exec(ctx, insertAuditSQL, r.by, command, endpoint, texts[0], texts[1]); err != nil {
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

// inUTC makes a time print in UTC; nil stays nil.
func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
