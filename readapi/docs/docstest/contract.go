// Package docstest holds answers against the contract, more strictly than clients may: what the contract does not document is
// an error here.
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

// Response is what was answered to a request.
type Response struct {
	Method string
	Path   string // below the base URL, as in the request line
	Status int
	Header http.Header
	Body   []byte
}

// Contract is the description of all approved operations. Its methods may be called from several goroutines.
type Contract struct {
	operations []operation
	problem    *jsonschema.Schema
}

// operation is a documented operation.
type operation struct {
	path      []string // segments; those in braces are variables
	responses map[string]*documentedResponse
}

// documentedResponse is what the description says about one status of an operation.
type documentedResponse struct {
	headers map[string]headerRule
	content map[string]*jsonschema.Schema
	codes   []string // of its problem documents
}

type headerRule struct {
	required bool
	integer  bool
	schema   *jsonschema.Schema
}

// New compiles the contract.
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

// Check is everything about the answer that the contract does not allow.
func (c *Contract) Check(a Response) error {
	o, ok := c.operation(a.Path)
	switch {
	case a.Method != http.MethodGet && a.Method != http.MethodHead, !ok:
		return c.checkOutside(a)
	}
	r, ok := o.responses[strconv.Itoa(a.Status)]
	if !ok {
		return fmt.Errorf("%d is not documented", a.Status)
	}
	problems := r.checkHeaders(a.Header)
	if a.Method == http.MethodHead {
		return errors.Join(problems...)
	}
	return errors.Join(append(problems, r.checkBody(a))...)
}

// checkOutside checks an answer to what is no operation. Errors there are problem documents as well.
func (c *Contract) checkOutside(a Response) error {
	if a.Status < http.StatusBadRequest || a.Method == http.MethodHead {
		return nil
	}
	if a.Header.Get("Content-Type") != problemType {
		return fmt.Errorf("content type %q", a.Header.Get("Content-Type"))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		return err
	}
	return errors.Join(c.problem.Validate(value), checkProblem(a, value))
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
