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
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"callboard/readapi/docs"
)

const problemType = "application/problem+json"

const contractURL = "https://contract.example/openapi.json"

// responseContract is the description of all approved operations. It is stricter than clients: anything undocumented is
// an error. Pointers are JSON Pointers into the description.
type responseContract struct {
	document any

	mu      sync.Mutex
	schemas *jsonschema.Compiler // each schema is compiled once
}

// contract checks the responses of tests.
func contract(tb testing.TB) *responseContract {
	tb.Helper()
	c, err := compiledContract()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

var compiledContract = sync.OnceValues(newContract) //nolint:gochecknoglobals // as constant as what it is compiled from

func newContract() (*responseContract, error) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		return nil, err
	}
	description, err := docs.Describe("https://contract.example/v1", approvals)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	if err != nil {
		return nil, err
	}
	refuseUnknownMembers(document)
	c := &responseContract{document: document, schemas: jsonschema.NewCompiler()}
	c.schemas.DefaultDraft(jsonschema.Draft2020)
	c.schemas.AssertFormat()
	c.schemas.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	c.schemas.RegisterFormat(&jsonschema.Format{Name: "uuid", Validate: checkUUID})
	return c, c.schemas.AddResource(contractURL, document)
}

// refuseUnknownMembers makes every schema refuse members that it does not document. Clients ignore them, but a
// response must not have them.
func refuseUnknownMembers(node any) {
	refuse := func(schema any) { schema.(map[string]any)["unevaluatedProperties"] = false }
	switch n := node.(type) {
	case map[string]any:
		for name, value := range n {
			switch name {
			case "schema", "items":
				refuse(value)
			case "properties":
				for _, property := range value.(map[string]any) {
					refuse(property)
				}
			}
			refuseUnknownMembers(value)
		}
	case []any:
		for _, element := range n {
			refuseUnknownMembers(element)
		}
	}
}

// checkTime accepts RFC 3339 in UTC.
func checkTime(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	if !strings.HasSuffix(text, "Z") {
		return errors.New("not in UTC")
	}
	_, err := time.Parse(time.RFC3339Nano, text)
	return err
}

// checkUUID accepts UUIDs in lower case with dashes.
func checkUUID(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	id, err := uuid.Parse(text)
	if err == nil && id.String() != text {
		err = errors.New("not in lower case with dashes")
	}
	return err
}

// conform fails the test if the contract does not allow the response.
func (h *harness) conform(method, url string, w *httptest.ResponseRecorder) {
	h.Helper()
	path, ok := strings.CutPrefix(url, baseURL)
	if h.contract == nil || !ok {
		return
	}
	if err := h.contract.check(method, path, w); err != nil {
		h.Errorf("%s %.300s: status %d is outside the contract: %v\n%.2000s", method, url, w.Code, err, w.Body)
	}
}

// check returns an error that lists everything in the response to a request that the contract does not allow. The
// path is below the base URL, as in the request line.
func (c *responseContract) check(method, path string, got *httptest.ResponseRecorder) error {
	documented, ok := c.pathOf(path)
	reads := method == http.MethodGet || method == http.MethodHead
	if !ok || !reads {
		if got.Code < http.StatusBadRequest || method == http.MethodHead {
			return nil
		}
		return c.checkBody("/components/responses/NotFound", got, false)
	}
	response := c.resolve("/paths/" + escapePointer(documented) + "/get/responses/" + strconv.Itoa(got.Code))
	if c.at(response) == nil {
		return fmt.Errorf("status %d is not documented", got.Code)
	}
	err := c.checkHeaders(response, got.Header())
	if method == http.MethodHead {
		return err
	}
	return errors.Join(err, c.checkBody(response, got, true))
}

// pathOf returns the documented path that a path matches.
func (c *responseContract) pathOf(path string) (string, bool) {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for documented := range c.members("/paths") {
		if slices.EqualFunc(strings.Split(documented, "/"), segments, func(documented, given string) bool {
			return documented == given || strings.HasPrefix(documented, "{") && given != ""
		}) {
			return documented, true
		}
	}
	return "", false
}

// commonHeaders lists HTTP headers that any response may have and the contract does not document.
func commonHeaders() []string {
	return []string{"Content-Length", "Content-Type", "Date", "Vary", "X-Content-Type-Options"}
}

func (c *responseContract) checkHeaders(response string, header http.Header) error {
	var problems []error
	documented := make(map[string]string) // pointers
	for name := range c.members(response + "/headers") {
		pointer, name := c.resolve(response+"/headers/"+name), http.CanonicalHeaderKey(name)
		documented[name] = pointer
		if c.at(pointer+"/required") == true && header.Get(name) == "" {
			problems = append(problems, fmt.Errorf("header %s is missing", name))
		}
	}
	for name, values := range header {
		pointer, ok := documented[name]
		switch {
		case slices.Contains(commonHeaders(), name):
		case !ok || len(values) != 1:
			problems = append(problems, fmt.Errorf("header %s is not documented, or has %d values", name, len(values)))
		default:
			var value any = values[0]
			if c.at(pointer+"/schema/type") == "integer" {
				value = jsonNumber(values[0])
			}
			problems = append(problems, c.validate(pointer+"/schema", value))
		}
	}
	return errors.Join(problems...)
}

// jsonNumber returns the integer of a text, or the text.
func jsonNumber(text string) any {
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return text
}

// checkBody checks the body of a response, and the code of a problem document if that is documented.
func (c *responseContract) checkBody(response string, got *httptest.ResponseRecorder, hasCode bool) error {
	contentType, content := got.Header().Get("Content-Type"), c.members(response+"/content")
	switch {
	case content == nil && got.Body.Len() == 0:
		return nil
	case content[contentType] == nil:
		return fmt.Errorf("content type %q is not documented", contentType)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		return err
	}
	problems := []error{c.validate(response+"/content/"+escapePointer(contentType)+"/schema", value)}
	if contentType != problemType {
		return problems[0]
	}
	if codes, _ := c.at(response + "/x-codes").([]any); hasCode && !slices.Contains(codes, memberOf(value, "code")) {
		problems = append(problems, fmt.Errorf("code %v is not documented", memberOf(value, "code")))
	}

	// A problem document repeats the status and some headers.
	for name, want := range map[string]string{
		"status":        strconv.Itoa(got.Code),
		"correlationId": got.Header().Get("X-Request-Id"),
		"retry_after":   got.Header().Get("Retry-After"),
	} {
		repeated := ""
		if value := memberOf(value, name); value != nil {
			repeated = fmt.Sprint(value)
		}
		if repeated != want {
			problems = append(problems, fmt.Errorf("problem member %s is %q, the response has %q", name, repeated, want))
		}
	}
	return errors.Join(problems...)
}

func (c *responseContract) validate(pointer string, value any) error {
	c.mu.Lock()
	schema, err := c.schemas.Compile(contractURL + "#" + pointer)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// resolve returns the pointer that a reference leads to, or the pointer itself.
func (c *responseContract) resolve(pointer string) string {
	if reference, ok := c.at(pointer + "/$ref").(string); ok {
		return strings.TrimPrefix(reference, "#")
	}
	return pointer
}

func (c *responseContract) members(pointer string) map[string]any {
	members, _ := c.at(pointer).(map[string]any)
	return members
}

func (c *responseContract) at(pointer string) any {
	value := c.document
	for _, token := range strings.Split(pointer, "/")[1:] {
		value = memberOf(value, strings.ReplaceAll(token, "~1", "/"))
	}
	return value
}

// escapePointer turns a name into a token of a JSON Pointer. No name in the contract contains a ~.
func escapePointer(name string) string { return strings.ReplaceAll(name, "/", "~1") }

func memberOf(object any, name string) any {
	members, _ := object.(map[string]any)
	return members[name]
}
