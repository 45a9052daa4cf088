package readapi

import (
	"net/http"
	"strings"
)

// code is what clients branch on. Its meaning is one row of the table below.
type code string

// The codes.
const (
	validationFailed       code = "VALIDATION_FAILED"
	unauthenticated        code = "UNAUTHENTICATED"
	insufficientScope      code = "INSUFFICIENT_SCOPE"
	credentialNotAccepted  code = "CREDENTIAL_NOT_ACCEPTED"
	addressNotAllowed      code = "ADDRESS_NOT_ALLOWED"
	notFound               code = "NOT_FOUND"
	methodNotAllowed       code = "METHOD_NOT_ALLOWED"
	preconditionFailed     code = "PRECONDITION_FAILED"
	rangeNotSatisfiable    code = "RANGE_NOT_SATISFIABLE"
	recordingNotReady      code = "RECORDING_NOT_READY"
	exportTooLarge         code = "EXPORT_TOO_LARGE"
	rateLimited            code = "RATE_LIMITED"
	internalError          code = "INTERNAL_ERROR"
	serviceUnavailable     code = "SERVICE_UNAVAILABLE"
	externalServiceTimeout code = "EXTERNAL_SERVICE_TIMEOUT"
)

// meaning is what follows from a code.
type meaning struct {
	status    int
	retryable bool
	title     string
	detail    string
}

func (c code) meaning() meaning {
	switch c {
	case validationFailed:
		return meaning{http.StatusBadRequest, false, "Invalid request", "The request has invalid parameters; errors lists them."}
	case unauthenticated:
		return meaning{http.StatusUnauthorized, false, "Authentication required", "A valid API key is required in the X-API-Key header."}
	case insufficientScope:
		return meaning{http.StatusForbidden, false, "Insufficient scope", "The API key lacks a scope that this operation needs, or has it for one person's own calls alone."}
	case credentialNotAccepted:
		return meaning{http.StatusForbidden, false, "Credential not accepted", "This API accepts tenant API keys only."}
	case addressNotAllowed:
		return meaning{http.StatusForbidden, false, "Address not allowed", "The API key can't be used from this address."}
	case notFound:
		return meaning{http.StatusNotFound, false, "Not found", "There is nothing here that can be read with this key."}
	case methodNotAllowed:
		return meaning{http.StatusMethodNotAllowed, false, "Method not allowed", "This API is read only: use GET."}
	case recordingNotReady:
		return meaning{http.StatusConflict, true, "Recording not ready", "The recording's audio is still being processed."}
	case preconditionFailed:
		return meaning{http.StatusPreconditionFailed, false, "Precondition failed", "The audio is not what the request's conditions ask for."}
	case rangeNotSatisfiable:
		return meaning{http.StatusRequestedRangeNotSatisfiable, false, "Range not satisfiable", "The audio has no such range; Content-Range tells its size."}
	case exportTooLarge:
		return meaning{http.StatusRequestEntityTooLarge, false, "Export too large", "The answer would be larger than can be sent."}
	case rateLimited:
		return meaning{http.StatusTooManyRequests, true, "Rate limited", "The API key's request budget is used up for the moment."}
	case serviceUnavailable:
		return meaning{http.StatusServiceUnavailable, true, "Service unavailable", "The service can't answer at the moment; try again."}
	case externalServiceTimeout:
		return meaning{http.StatusServiceUnavailable, true, "Timed out", "The answer could not be put together in time; try again."}
	default:
		return meaning{http.StatusInternalServerError, false, "Internal error", "The request could not be answered; quote the correlation id to support."}
	}
}

// problemType is the URL that identifies the type of problem.
func (c code) problemType() string {
	return "https://callboard.dev/problems/" + strings.ReplaceAll(strings.ToLower(string(c)), "_", "-")
}
