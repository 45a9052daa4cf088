package readapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"callboard/readapi/access"
	"callboard/readapi/audio"
	"callboard/readapi/query"
	"callboard/schema"
)

// panicError is a recovered panic.
type panicError struct {
	value any
	stack []byte
}

// Error implements error.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// unavailableRetryAfter is sent while the database is unavailable, in seconds.
const unavailableRetryAfter = 2

// throttledRetryAfter is sent while unknown keys are throttled, in seconds.
const throttledRetryAfter = 1

// staleRetryAfter is sent while a grant's coverage is too old, in seconds: the projector must run again first.
const staleRetryAfter = 60

// staleCode is the audit's code of a request that was refused because of the age of its grant's coverage.
const staleCode = "COVERAGE_STALE"

// errCoverageStale is the cause of a problem if what decides about a group or an organization is too old.
var errCoverageStale = errors.New("coverage of the grant is too old")

func staleCoverage(age time.Duration) *problem {
	cause := fmt.Errorf("%w: the deciding partition is %s behind", errCoverageStale, age.Round(time.Millisecond))
	return &problem{code: serviceUnavailable, retryAfter: staleRetryAfter, cause: cause}
}

// problemOf maps every error to what the client is told. A phone system that is read is one that the primary has just
// covered: a replica that lacks it is behind, or it was deleted since, which the next request finds. So its absence is
// temporary.
func problemOf(err error) *problem {
	var known *problem
	var denied *access.DeniedError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &denied):
		return &problem{code: denialCode(denied.Code)}

	case errors.Is(err, access.ErrThrottled):
		return &problem{code: serviceUnavailable, retryAfter: throttledRetryAfter, cause: err}

	// ErrNoSystem is an ErrNotFound, too, so its case comes first.
	case errors.Is(err, query.ErrNoSystem):
		return &problem{code: serviceUnavailable, retryAfter: unavailableRetryAfter,
			cause: fmt.Errorf("covered on the primary: %w", err)}
	case errors.Is(err, query.ErrNotFound):
		return &problem{code: notFound}

	case unavailable(err), errors.Is(err, audio.ErrNoCredentials):
		return &problem{code: serviceUnavailable, retryAfter: unavailableRetryAfter, cause: err}
	}

	return &problem{code: internalError, cause: err}
}

func denialCode(c access.DenialCode) code {
	switch c {
	case access.CredentialNotAccepted:
		return credentialNotAccepted
	case access.AddressNotAllowed:
		return addressNotAllowed
	default:
		return unauthenticated
	}
}

// unavailable reports whether the database could not be reached, was too slow or changes its partitions, as opposed to
// having refused a statement. A server that refuses a connection may give any SQLSTATE, XX000 on a full disk for
// example, so the connection is checked first.
func unavailable(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}

	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return temporary(refused.Code) || schema.IsNodeFailure(refused)
	}

	// No server has refused the statement: the connection was lost, the time has ended, or partitions change.
	var network net.Error
	return errors.As(err, &network) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, access.ErrNodeDown) ||
		errors.Is(err, access.ErrSwitching) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// temporary reports whether a SQLSTATE is about the server's state and not about the statement. A replica's recovery
// fails statements with serialization_failure. A table or column is missing while the projection is that of another
// release.
func temporary(state string) bool {
	switch state {
	case pgerrcode.UndefinedTable, pgerrcode.UndefinedColumn, pgerrcode.SerializationFailure:
		return true
	}
	return pgerrcode.IsInsufficientResources(state) ||
		pgerrcode.IsOperatorIntervention(state) || pgerrcode.IsSystemError(state)
}

// statusClientGone is logged if the client closed the connection before the response. It is never sent.
const statusClientGone = 499

// clientGone reports whether the request failed because its client closed the connection.
func clientGone(r *http.Request, err error) bool {
	return err != nil && errors.Is(r.Context().Err(), context.Canceled) && problemOf(err).cause != nil
}
