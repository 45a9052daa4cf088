package readapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const contractURL = "https://contract.example/openapi.json"

// contractCompiler reads responses and schemas from a description. Pointers are JSON Pointers into it.
type contractCompiler struct {
	document any
	schemas  *jsonschema.Compiler
	seen     map[string]*documentedResponse // by pointer, because most responses are shared
	problems []error
}

func compileContract(description []byte) (*responseContract, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	if err != nil {
		return nil, err
	}
	refuseUnknownMembers(document)
	c := &contractCompiler{document: document, schemas: jsonschema.NewCompiler(), seen: make(map[string]*documentedResponse)}
	c.schemas.DefaultDraft(jsonschema.Draft2020)
	c.schemas.AssertFormat()
	c.schemas.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: checkTime})
	c.schemas.RegisterFormat(&jsonschema.Format{Name: "uuid", Validate: checkUUID})
	if err := c.schemas.AddResource(contractURL, document); err != nil {
		return nil, err
	}
	contract := &responseContract{problem: c.schema("/components/responses/NotFound/content/application~1problem+json/schema")}
	for path := range c.members("/paths") {
		contract.operations = append(contract.operations, describedOperation{
			path:      strings.Split(path, "/"),
			responses: c.responses("/paths/" + escapePointer(path) + "/get/responses"),
		})
	}
	return contract, errors.Join(c.problems...)
}

func (c *contractCompiler) responses(pointer string) map[string]*documentedResponse {
	all := make(map[string]*documentedResponse)
	for status := range c.members(pointer) {
		target := c.resolve(pointer + "/" + status)
		if c.seen[target] == nil {
			c.seen[target] = c.response(target)
		}
		all[status] = c.seen[target]
	}
	return all
}

func (c *contractCompiler) response(target string) *documentedResponse {
	r := &documentedResponse{headers: make(map[string]headerRule), content: make(map[string]*jsonschema.Schema)}
	for name := range c.members(target + "/headers") {
		header := c.resolve(target + "/headers/" + name)
		required, _ := c.at(header + "/required").(bool)
		r.headers[http.CanonicalHeaderKey(name)] = headerRule{
			required: required,
			integer:  c.at(header+"/schema/type") == "integer",
			schema:   c.schema(header + "/schema"),
		}
	}
	for contentType := range c.members(target + "/content") {
		r.content[contentType] = c.schema(target + "/content/" + escapePointer(contentType) + "/schema")
	}
	codes, _ := c.at(target + "/x-codes").([]any)
	for _, code := range codes {
		r.codes = append(r.codes, fmt.Sprint(code))
	}
	return r
}

func (c *contractCompiler) schema(pointer string) *jsonschema.Schema {
	schema, err := c.schemas.Compile(contractURL + "#" + pointer)
	if err != nil {
		c.problems = append(c.problems, err)
	}
	return schema
}

// resolve returns the pointer that a reference leads to, or the pointer itself.
func (c *contractCompiler) resolve(pointer string) string {
	if reference, ok := c.at(pointer + "/$ref").(string); ok {
		return strings.TrimPrefix(reference, "#")
	}
	return pointer
}

func (c *contractCompiler) members(pointer string) map[string]any {
	members, _ := c.at(pointer).(map[string]any)
	return members
}

func (c *contractCompiler) at(pointer string) any {
	value := c.document
	for _, token := range strings.Split(pointer, "/")[1:] {
		value = memberOf(value, strings.ReplaceAll(token, "~1", "/"))
	}
	return value
}

// escapePointer turns a name into a token of a JSON Pointer. No name in the contract contains a ~.
func escapePointer(name string) string { return strings.ReplaceAll(name, "/", "~1") }

// refuseUnknownMembers makes every schema refuse members that it does not document. Clients ignore them, but a
// response must not have them.
func refuseUnknownMembers(node any) {
	switch n := node.(type) {
	case map[string]any:
		for name, value := range n {
			switch name {
			case "schema", "items":
				setUnevaluated(value)
			case "properties":
				for _, property := range value.(map[string]any) {
					setUnevaluated(property)
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

func setUnevaluated(schema any) { schema.(map[string]any)["unevaluatedProperties"] = false }

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
