package readapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// problem is an error that is answered with an RFC 9457 problem document. The code decides its texts.
type problem struct {
	code       code
	errors     []fieldProblem
	params     any   // a struct of values that clients can use; nil: none
	retryAfter int   // seconds; zero: no member and no header
	cause      error // logged, never sent
}

// fieldProblem is what is wrong with one parameter of a request.
type fieldProblem struct {
	Pointer string    `json:"pointer"` // JSON Pointer
	Code    fieldCode `json:"code"`
	Detail  string    `json:"detail"`
}

// code identifies a problem to clients.
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

// fieldCode identifies what is wrong with a parameter.
type fieldCode string

// The field codes.
const (
	required         fieldCode = "REQUIRED"
	tooSmall         fieldCode = "TOO_SMALL"
	tooLarge         fieldCode = "TOO_LARGE"
	tooLong          fieldCode = "TOO_LONG"
	invalidFormat    fieldCode = "INVALID_FORMAT"
	unknownParameter fieldCode = "UNKNOWN_PARAMETER"
	notAllowed       fieldCode = "NOT_ALLOWED"
	repeated         fieldCode = "REPEATED"
	cursorMismatch   fieldCode = "CURSOR_MISMATCH"
	cursorInvalid    fieldCode = "CURSOR_INVALID"
)

// codeInfo is what a code implies.
type codeInfo struct {
	status    int
	retryable bool
	title     string
	detail    string
}

// permanent describes a code whose request fails again.
func permanent(status int, title, detail string) codeInfo {
	return codeInfo{status: status, title: title, detail: detail}
}

// transient describes a code whose request can succeed later.
func transient(status int, title, detail string) codeInfo {
	return codeInfo{status: status, retryable: true, title: title, detail: detail}
}

func (c code) info() codeInfo {
	switch c {
	case validationFailed:
		return permanent(http.StatusBadRequest, "Invalid request",
			"The request has invalid parameters; correct those that errors lists.")

	case unauthenticated:
		return permanent(http.StatusUnauthorized, "Authentication required",
			"The API key is missing or not valid; send a valid key in the X-API-Key header.")
	case insufficientScope:
		return permanent(http.StatusForbidden, "Insufficient scope",
			"The API key does not have the scope that this operation requires, or has it only for one person's calls; "+
				"use another key.")

	case credentialNotAccepted:
		return permanent(http.StatusForbidden, "Credential not accepted",
			"This API accepts only tenant API keys; send one in the X-API-Key header.")
	case addressNotAllowed:
		return permanent(http.StatusForbidden, "Address not allowed",
			"The API key can't be used from this IP address; use an address on the key's allowlist.")

	case notFound:
		return permanent(http.StatusNotFound, "Not found",
			"Resource not found, or not accessible with this key.")
	case methodNotAllowed:
		return permanent(http.StatusMethodNotAllowed, "Method not allowed",
			"This API is read-only; use GET or HEAD.")

	case recordingNotReady:
		return transient(http.StatusConflict, "Recording not ready",
			"The recording's audio is still being processed; try again after retry_after seconds.")

	case preconditionFailed:
		return permanent(http.StatusPreconditionFailed, "Precondition failed",
			"The audio does not meet the request's conditions; send the request without them.")
	case rangeNotSatisfiable:
		return permanent(http.StatusRequestedRangeNotSatisfiable, "Range not satisfiable",
			"The audio does not have this range; the Content-Range header has its size.")

	case exportTooLarge:
		return permanent(http.StatusRequestEntityTooLarge, "Export too large",
			"The response would exceed the size limit; request fewer rows, or omit transcripts where the operation allows it.")
	case rateLimited:
		return transient(http.StatusTooManyRequests, "Rate limited",
			"The API key's request budget is used up; try again after retry_after seconds.")

	case serviceUnavailable:
		return transient(http.StatusServiceUnavailable, "Service unavailable",
			"The service is temporarily unavailable; try again later.")
	case externalServiceTimeout:
		return transient(http.StatusServiceUnavailable, "Timed out",
			"The response could not be produced in time; try again.")

	default:
		return permanent(http.StatusInternalServerError, "Internal error",
			"The request failed because of an internal error; give the correlation id to support.")
	}
}

// problemType is the URL that identifies the type of problem.
func (c code) problemType() string {
	return "https://callboard.dev/problems/" + strings.ReplaceAll(strings.ToLower(string(c)), "_", "-")
}

// pointer is the JSON Pointer to a parameter.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Error implements error: the code, and the cause if there is one.
func (p *problem) Error() string {
	if p.cause != nil {
		return string(p.code) + ": " + p.cause.Error()
	}
	return string(p.code)
}

// Unwrap returns the cause, or nil.
func (p *problem) Unwrap() error { return p.cause }

// appendJSON appends a value as JSON in which <, > and & are not escaped.
func appendJSON(b []byte, value any) []byte {
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // the values of this package have no functions, cycles and NaN
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// append appends the problem document.
func (p *problem) append(b []byte, correlationID string) []byte {
	i := p.code.info()
	return appendJSON(b, struct {
		Type          string         `json:"type"`
		Title         string         `json:"title"`
		Status        int            `json:"status"`
		Code          code           `json:"code"`
		Detail        string         `json:"detail"`
		CorrelationID string         `json:"correlationId"`
		Retryable     bool           `json:"retryable"`
		Errors        []fieldProblem `json:"errors,omitempty"`
		Params        any            `json:"params,omitempty"`
		RetryAfter    int            `json:"retry_after,omitempty"`
	}{
		p.code.problemType(), i.title, i.status, p.code, i.detail, correlationID, i.retryable, p.errors, p.params,
		p.retryAfter,
	})
}
