// Package docstest checks responses against the OpenAPI description. It is stricter than clients: anything undocumented is an
// error.
package docstest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callboard/readapi/docs"
)

// Response is the response to a request.
type Response struct {
	Method string
	Path   string // below the base URL, as in the request line
	Status int
	Header http.Header
	Body   []byte
}

// Contract is the compiled description of all approved operations. It is safe for concurrent use.
type Contract struct {
	operations []operation
	problem    *jsonschema.Schema
}

type operation struct {
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

// New compiles the description of all approved operations.
func New() (*Contract, error) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		return nil, err
	}
	description, err := docs.Describe("https://contract.example/v1", approvals)
	if err != nil {
		return nil, err
	}
	return compile(description)
}

// Check returns an error that lists everything in the response that the contract does not allow.
func (c *Contract) Check(got Response) error {
	o, ok := c.operation(got.Path)
	switch {
	case got.Method != http.MethodGet && got.Method != http.MethodHead, !ok:
		return c.checkNoOperation(got)
	}
	r, ok := o.responses[strconv.Itoa(got.Status)]
	if !ok {
		return fmt.Errorf("status %d is not documented", got.Status)
	}
	problems := r.checkHeaders(got.Header)
	if got.Method == http.MethodHead {
		return errors.Join(problems...)
	}
	return errors.Join(append(problems, r.checkBody(got))...)
}

// checkNoOperation checks the response to a request that matches no operation. Errors must be problem documents there too.
func (c *Contract) checkNoOperation(got Response) error {
	if got.Status < http.StatusBadRequest || got.Method == http.MethodHead {
		return nil
	}
	if got.Header.Get("Content-Type") != problemType {
		return fmt.Errorf("content type is %q, want %q", got.Header.Get("Content-Type"), problemType)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body))
	if err != nil {
		return err
	}
	return errors.Join(c.problem.Validate(value), checkProblem(got, value))
}

func (c *Contract) operation(path string) (operation, bool) {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for _, o := range c.operations {
		if slices.EqualFunc(o.path, segments, func(documented, given string) bool {
			return documented == given || strings.HasPrefix(documented, "{") && given != ""
		}) {
			return o, true
		}
	}
	return operation{}, false
}
