package readapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/readapi/access"
	"callboard/readapi/query"
)

// panicError is a fault of this program, caught.
type panicError struct {
	value any
	stack []byte
}

// Error is what was panicked with.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// unavailableRetry is how long clients are asked to wait while the database can't answer, in seconds.
const unavailableRetry = 2

// problemOf is the one place where errors get their meaning for clients.
func problemOf(err error) *problem {
	var known *problem
	var denial *access.DeniedError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &denial):
		return &problem{code: denialCode(denial.Verdict)}
	case errors.Is(err, query.ErrNotFound):
		return &problem{code: notFound}
	case unavailable(err):
		return &problem{code: serviceUnavailable, retryAfter: unavailableRetry, cause: err}
	}
	return &problem{code: internalError, cause: err}
}

func denialCode(v access.Verdict) code {
	switch v {
	case access.CredentialNotAccepted:
		return credentialNotAccepted
	case access.AddressNotAllowed:
		return addressNotAllowed
	default:
		return unauthenticated
	}
}

// unavailable reports whether the database could not be asked or was too slow, as opposed to having refused what it was asked.
func unavailable(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return transient(refused.Code)
	}
	var unreachable *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &unreachable) || errors.As(err, &network) ||
		errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// transient reports whether a SQLSTATE is about the server's state: connections (08), resources (53), shutdown and
// cancellation (57), a conflict with a replica's recovery (40001), a system error such as I/O (58). A table or column that isn't there
// (42P01, 42703) is an earlier release's projection, until that is built anew.
func transient(state string) bool {
	switch state {
	case pgerrcode.UndefinedTable, pgerrcode.UndefinedColumn, pgerrcode.SerializationFailure:
		return true
	}
	return pgerrcode.IsConnectionException(state) || pgerrcode.IsInsufficientResources(state) ||
		pgerrcode.IsOperatorIntervention(state) || pgerrcode.IsSystemError(state)
}

// statusClientGone is logged for a client that did not wait for its answer. It is never sent.
const statusClientGone = 499

// gone reports whether the request failed because its client went away.
func gone(r *http.Request, err error) bool {
	return err != nil && errors.Is(r.Context().Err(), context.Canceled) && problemOf(err).cause != nil
}
