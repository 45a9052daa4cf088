// Package registry registers webhook endpoints for operators, shows them and their deliveries, and repeats deliveries.
//
// It writes tables and sends nothing. Every change of an endpoint is recorded in webhook.audit, in the transaction of the change.
package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// ErrState is wrapped where the state of an endpoint excludes a change.
var ErrState = errors.New("webhook endpoint")

func stateError(id uuid.UUID, state State, advice string) error {
	return fmt.Errorf("%w %s is %s: %s", ErrState, id, state, advice)
}

// inTx does work in a transaction whose statements see what others have committed before each of them.
func (r *Registry) inTx(ctx context.Context, work func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, work)
}

// change does work in a transaction that has locked an endpoint. The error wraps [ErrState] if the endpoint was removed.
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

// excludeFanOuts waits until the running fan-outs have ended. The next one begins after the transaction and sees its changes.
func excludeFanOuts(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, $2)", fanout.LockClass, fanout.ActivationLock); err != nil {
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
