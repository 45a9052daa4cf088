package events_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"callboard/events"
)

// node is a JSON Schema as far as members are concerned.
type node struct {
	Ref        string          `json:"$ref"`
	Required   []string        `json:"required"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	AnyOf      []node          `json:"anyOf"`
	Defs       map[string]node `json:"$defs"`
}

func TestSchema_NamesEveryMember(t *testing.T) {
	defs := readNode(t, "schemas/defs.schema.json").Defs
	for _, entity := range events.Entities() {
		root := readNode(t, "schemas/"+string(entity)+".schema.json")
		c := memberCheck{t: t, defs: maps.Clone(defs)}
		maps.Copy(c.defs, root.Defs)
		c.compare(string(entity), root, reflect.TypeOf(newState(entity)).Elem())
	}
}

func readNode(t *testing.T, path string) node {
	t.Helper()
	var n node
	data, err := fs.ReadFile(events.Documents(), path)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type memberCheck struct {
	t    *testing.T
	defs map[string]node // shared ones and the entity's own; no name is in both
}

// compare holds a schema against the Go type of the same value, members of members included.
func (c memberCheck) compare(at string, n node, typ reflect.Type) {
	c.t.Helper()
	n = c.resolve(n)
	switch {
	case typ.Kind() == reflect.Pointer:
		c.compare(at, n, typ.Elem())
	case typ.Kind() == reflect.Slice && n.Items != nil:
		c.compare(at, *n.Items, typ.Elem())
	case typ.Kind() == reflect.Struct && !strings.HasPrefix(typ.Name(), "Null["):
		c.compareMembers(at, n, typ)
	case len(n.Properties) > 0:
		c.t.Errorf("%s: has members in the schema, and is a %s", at, typ)
	}
}

func (c memberCheck) compareMembers(at string, n node, typ reflect.Type) {
	c.t.Helper()
	var required, members []string
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		members = append(members, name)
		nullable := field.Type.Kind() == reflect.Pointer || strings.HasPrefix(field.Type.Name(), "Null[")
		if !nullable && options == "" {
			required = append(required, name)
		}
		if property, ok := n.Properties[name]; ok {
			c.compare(at+"/"+name, property, field.Type)
		} else {
			c.t.Errorf("%s/%s: not in the schema", at, name)
		}
	}
	for name := range n.Properties {
		if !slices.Contains(members, name) {
			c.t.Errorf("%s/%s: not in %s", at, name, typ)
		}
	}
	slices.Sort(required)
	slices.Sort(n.Required)
	if !slices.Equal(required, n.Required) {
		c.t.Errorf("%s: required are %q, and not null in %s are %q", at, n.Required, typ, required)
	}
}

// resolve follows references and looks through "or null".
func (c memberCheck) resolve(n node) node {
	c.t.Helper()
	if n.Ref != "" {
		_, name, _ := strings.Cut(n.Ref, "#/$defs/")
		target, ok := c.defs[name]
		if !ok {
			c.t.Errorf("%s leads nowhere", n.Ref)
		}
		return c.resolve(target)
	}
	if len(n.AnyOf) == 2 && n.AnyOf[1].Ref == "" && n.AnyOf[1].Properties == nil {
		return c.resolve(n.AnyOf[0])
	}
	return n
}
