package readapi

import (
	"strconv"
	"strings"
)

// problem is an error that is answered as an RFC 9457 problem document. Its words follow from the code.
type problem struct {
	code       code
	errors     []fieldProblem
	params     []param
	retryAfter int   // seconds; zero: no meaningful delay
	cause      error // for the log
}

// fieldProblem is what is wrong with one field of a request.
type fieldProblem struct {
	pointer string // JSON Pointer
	code    fieldCode
	detail  string
}

// param is a detail of a problem for programs: a string or an int64.
type param struct {
	name  string
	value any
}

// fieldCode says what is wrong with a field.
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

// pointer is the JSON Pointer to a parameter.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Error is the code, and the cause where there is one.
func (p *problem) Error() string {
	if p.cause != nil {
		return string(p.code) + ": " + p.cause.Error()
	}
	return string(p.code)
}

// Unwrap is the cause.
func (p *problem) Unwrap() error { return p.cause }

// append writes the problem document.
func (p *problem) append(b []byte, correlationID string) []byte {
	m := p.code.meaning()
	b = append(b, `{"type":`...)
	b = appendString(b, p.code.problemType())
	b = append(b, `,"title":`...)
	b = appendString(b, m.title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(m.status), 10)
	b = append(b, `,"code":`...)
	b = appendString(b, string(p.code))
	b = append(b, `,"detail":`...)
	b = appendString(b, m.detail)
	b = append(b, `,"correlationId":`...)
	b = appendString(b, correlationID)
	b = append(b, `,"retryable":`...)
	b = strconv.AppendBool(b, m.retryable)
	b = p.appendErrors(b)
	b = p.appendParams(b)
	if p.retryAfter > 0 {
		b = append(b, `,"retry_after":`...)
		b = strconv.AppendInt(b, int64(p.retryAfter), 10)
	}
	return append(b, '}')
}

func (p *problem) appendErrors(b []byte) []byte {
	for i, e := range p.errors {
		b = append(b, separator(i, `,"errors":[`)...)
		b = append(b, `{"pointer":`...)
		b = appendString(b, e.pointer)
		b = append(b, `,"code":`...)
		b = appendString(b, string(e.code))
		b = append(b, `,"detail":`...)
		b = appendString(b, e.detail)
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
		b = appendString(b, e.name)
		b = append(b, ':')
		switch value := e.value.(type) {
		case string:
			b = appendString(b, value)
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
