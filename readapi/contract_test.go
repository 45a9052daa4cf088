package readapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callboard/readapi/docs"
)

// responseContract is the compiled description of all approved operations. It is stricter than clients: anything
// undocumented is an error. It is safe for concurrent use.
type responseContract struct {
	operations []describedOperation
	problem    *jsonschema.Schema
}

type describedOperation struct {
	path      []string // segments; a segment in braces is a variable
	responses map[string]*documentedResponse
}

// documentedResponse is what the description says about one status of an operation.
type documentedResponse struct {
	headers map[string]headerRule
	content map[string]*jsonschema.Schema
	codes   []string // problem codes that the response can have
}

type headerRule struct {
	required bool
	integer  bool
	schema   *jsonschema.Schema
}

// newContract compiles the description of all approved operations.
func newContract() (*responseContract, error) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		return nil, err
	}
	description, err := docs.Describe("https://contract.example/v1", approvals)
	if err != nil {
		return nil, err
	}
	return compileContract(description)
}

// check returns an error that lists everything in the response to a request that the contract does not allow. The
// path is below the base URL, as in the request line.
func (c *responseContract) check(method, path string, got *httptest.ResponseRecorder) error {
	o, ok := c.operation(path)
	switch {
	case method != http.MethodGet && method != http.MethodHead, !ok:
		return c.checkNoOperation(method, got)
	}
	r, ok := o.responses[strconv.Itoa(got.Code)]
	if !ok {
		return fmt.Errorf("status %d is not documented", got.Code)
	}
	problems := r.checkHeaders(got.Header())
	if method == http.MethodHead {
		return errors.Join(problems...)
	}
	return errors.Join(append(problems, r.checkBody(got))...)
}

// checkNoOperation checks the response to a request that matches no operation. Errors must be problem documents
// there too.
func (c *responseContract) checkNoOperation(method string, got *httptest.ResponseRecorder) error {
	if got.Code < http.StatusBadRequest || method == http.MethodHead {
		return nil
	}
	if got.Header().Get("Content-Type") != problemType {
		return fmt.Errorf("content type is %q, want %q", got.Header().Get("Content-Type"), problemType)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		return err
	}
	return errors.Join(c.problem.Validate(value), checkProblem(got, value))
}

func (c *responseContract) operation(path string) (describedOperation, bool) {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for _, o := range c.operations {
		if slices.EqualFunc(o.path, segments, func(documented, given string) bool {
			return documented == given || strings.HasPrefix(documented, "{") && given != ""
		}) {
			return o, true
		}
	}
	return describedOperation{}, false
}
