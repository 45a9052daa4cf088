package readapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const problemType = "application/problem+json"

// commonHeaders lists HTTP headers that any response may have and the contract does not document.
func commonHeaders() []string {
	return []string{"Content-Length", "Content-Type", "Date", "Vary", "X-Content-Type-Options"}
}

func (r *documentedResponse) checkHeaders(header http.Header) []error {
	var problems []error
	for name, rule := range r.headers {
		if rule.required && header.Get(name) == "" {
			problems = append(problems, fmt.Errorf("header %s is missing", name))
		}
	}
	for name, values := range header {
		rule, documented := r.headers[name]
		switch {
		case slices.Contains(commonHeaders(), name):
		case !documented:
			problems = append(problems, fmt.Errorf("header %s is not documented", name))
		case len(values) != 1:
			problems = append(problems, fmt.Errorf("header %s has %d values", name, len(values)))
		default:
			if err := rule.check(values[0]); err != nil {
				problems = append(problems, fmt.Errorf("header %s: %w", name, err))
			}
		}
	}
	return problems
}

// check validates a header value. The schema of an integer applies to the parsed number.
func (h headerRule) check(value string) error {
	if !h.integer {
		return h.schema.Validate(value)
	}
	number, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	return h.schema.Validate(number)
}

func (r *documentedResponse) checkBody(got *httptest.ResponseRecorder) error {
	contentType := got.Header().Get("Content-Type")
	schema, ok := r.content[contentType]
	switch {
	case !ok && len(r.content) == 0 && got.Body.Len() == 0:
		return nil
	case !ok:
		return fmt.Errorf("content type %q is not documented", contentType)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		return err
	}
	err = schema.Validate(value)
	if contentType == problemType {
		return errors.Join(err, checkProblem(got, value), r.checkCode(value))
	}
	return err
}

func (r *documentedResponse) checkCode(problem any) error {
	if code, _ := memberOf(problem, "code").(string); !slices.Contains(r.codes, code) {
		return fmt.Errorf("code %s is not documented", code)
	}
	return nil
}

// checkProblem compares a problem document with the status and headers that it repeats.
func checkProblem(got *httptest.ResponseRecorder, problem any) error {
	var problems []error
	for name, want := range map[string]string{
		"status":        strconv.Itoa(got.Code),
		"correlationId": got.Header().Get("X-Request-Id"),
		"retry_after":   got.Header().Get("Retry-After"),
	} {
		repeated := ""
		if value := memberOf(problem, name); value != nil {
			repeated = fmt.Sprint(value)
		}
		if repeated != want {
			problems = append(problems, fmt.Errorf("problem member %s is %q, the response has %q", name, repeated, want))
		}
	}
	return errors.Join(problems...)
}

func memberOf(object any, name string) any {
	members, _ := object.(map[string]any)
	return members[name]
}
