package readapi

import (
	"net/http"
	"strconv"
	"strings"

	"callboard/readapi/encode"
)

// problem is an error that is answered with an RFC 9457 problem document. The code decides its texts.
type problem struct {
	code       code
	errors     []fieldProblem
	params     []param
	retryAfter int   // seconds; zero: no member and no header
	cause      error // logged, never sent
}

// fieldProblem is what is wrong with one parameter of a request.
type fieldProblem struct {
	pointer string // JSON Pointer
	code    fieldCode
	detail  string
}

// param is a value of a problem that clients can use. It is a string or an int64.
type param struct {
	name  string
	value any
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

func (c code) info() codeInfo {
	switch c {
	case validationFailed:
		return codeInfo{http.StatusBadRequest, false, "Invalid request", "The request has invalid parameters; correct those that errors lists."}
	case unauthenticated:
		return codeInfo{http.StatusUnauthorized, false, "Authentication required", "The API key is missing or not valid; send a valid key in the X-API-Key header."}
	case insufficientScope:
		return codeInfo{http.StatusForbidden, false, "Insufficient scope", "The API key does not have the scope that this operation requires, or has it only for one person's calls; use another key."}
	case credentialNotAccepted:
		return codeInfo{http.StatusForbidden, false, "Credential not accepted", "This API accepts only tenant API keys; send one in the X-API-Key header."}
	case addressNotAllowed:
		return codeInfo{http.StatusForbidden, false, "Address not allowed", "The API key can't be used from this IP address; use an address on the key's allowlist."}
	case notFound:
		return codeInfo{http.StatusNotFound, false, "Not found", "Resource not found, or not accessible with this key."}
	case methodNotAllowed:
		return codeInfo{http.StatusMethodNotAllowed, false, "Method not allowed", "This API is read-only; use GET or HEAD."}
	case recordingNotReady:
		return codeInfo{http.StatusConflict, true, "Recording not ready", "The recording's audio is still being processed; try again after retry_after seconds."}
	case preconditionFailed:
		return codeInfo{http.StatusPreconditionFailed, false, "Precondition failed", "The audio does not meet the request's conditions; send the request without them."}
	case rangeNotSatisfiable:
		return codeInfo{http.StatusRequestedRangeNotSatisfiable, false, "Range not satisfiable", "The audio does not have this range; the Content-Range header has its size."}
	case exportTooLarge:
		return codeInfo{http.StatusRequestEntityTooLarge, false, "Export too large", "The response would exceed the size limit; request fewer rows, or omit transcripts where the operation allows it."}
	case rateLimited:
		return codeInfo{http.StatusTooManyRequests, true, "Rate limited", "The API key's request budget is used up; try again after retry_after seconds."}
	case serviceUnavailable:
		return codeInfo{http.StatusServiceUnavailable, true, "Service unavailable", "The service is temporarily unavailable; try again later."}
	case externalServiceTimeout:
		return codeInfo{http.StatusServiceUnavailable, true, "Timed out", "The response could not be produced in time; try again."}
	default:
		return codeInfo{http.StatusInternalServerError, false, "Internal error", "The request failed because of an internal error; give the correlation id to support."}
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

// append writes the problem document.
func (p *problem) append(b []byte, correlationID string) []byte {
	i := p.code.info()
	b = encode.String(append(b, `{"type":`...), p.code.problemType())
	b = encode.String(append(b, `,"title":`...), i.title)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(i.status), 10)
	b = encode.String(append(b, `,"code":`...), string(p.code))
	b = encode.String(append(b, `,"detail":`...), i.detail)
	b = encode.String(append(b, `,"correlationId":`...), correlationID)
	b = strconv.AppendBool(append(b, `,"retryable":`...), i.retryable)
	b = p.appendErrors(b)
	b = p.appendParams(b)
	if p.retryAfter > 0 {
		b = strconv.AppendInt(append(b, `,"retry_after":`...), int64(p.retryAfter), 10)
	}
	return append(b, '}')
}

func (p *problem) appendErrors(b []byte) []byte {
	for i, e := range p.errors {
		b = append(b, separator(i, `,"errors":[`)...)
		b = encode.String(append(b, `{"pointer":`...), e.pointer)
		b = encode.String(append(b, `,"code":`...), string(e.code))
		b = encode.String(append(b, `,"detail":`...), e.detail)
		b = append(b, '}')
	}
	if len(p.errors) > 0 {
		b = append(b, ']')
	}
	return b
}

func (p *problem) appendParams(b []byte) []byte {
	for i, e := range p.params {
		b = append(b, separator(i, `,"params":{`)...)
		b = encode.String(b, e.name)
		b = append(b, ':')
		switch value := e.value.(type) {
		case string:
			b = encode.String(b, value)
		case int64:
			b = strconv.AppendInt(b, value, 10)
		}
	}
	if len(p.params) > 0 {
		b = append(b, '}')
	}
	return b
}

// separator is what comes before the i-th element.
func separator(i int, opening string) string {
	if i == 0 {
		return opening
	}
	return ","
}
