package events_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"callboard/events"
)

// schemas compiles the JSON Schemas. The function returned finds the schema for the data of a fixture.
func schemas(tb testing.TB) func(name string) *jsonschema.Schema {
	tb.Helper()
	const root = "file:///"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	paths, err := fs.Glob(events.Documents(), "schemas/*.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	for _, path := range paths {
		data, err := fs.ReadFile(events.Documents(), path)
		if err != nil {
			tb.Fatal(err)
		}
		if err := compiler.AddResource(root+path, jsonValue(tb, data)); err != nil {
			tb.Fatal(err)
		}
	}
	return func(name string) *jsonschema.Schema {
		tb.Helper()
		entity, _, _ := strings.Cut(name, ".")
		url := root + "schemas/" + entity + ".schema.json"
		if strings.HasSuffix(name, ".deleted") {
			url = root + "schemas/deletion.schema.json#/$defs/" + entity
		}
		schema, err := compiler.Compile(url)
		if err != nil {
			tb.Fatal(err)
		}
		return schema
	}
}

func jsonValue(tb testing.TB, data []byte) any {
	tb.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestSchema_AcceptsFixtures(t *testing.T) {
	of := schemas(t)
	for _, name := range fixtureNames(t) {
		decoded(t, name)
		if err := of(name).Validate(jsonValue(t, fixtureBody(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchema_RefusesWhatDecodeRefuses(t *testing.T) {
	of := schemas(t)
	for _, r := range refusals() {
		if !r.structural {
			continue
		}
		if of(r.fixture).Validate(jsonValue(t, r.message(t).Data)) == nil {
			t.Errorf("%s: the schema accepts it, want a refusal", r.name)
		}
	}
}

func TestSchema_AcceptsWhatIsPublished(t *testing.T) {
	of := schemas(t)
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		m, err := events.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		if err := of(strings.TrimPrefix(e.Type(), "callboard.")).Validate(v); err != nil {
			t.Fatalf("%s: %v", m.Data, err)
		}
	})
}

// Each member of each fixture is left out, set to null and set to values of other types. Decode and the schema must
// agree on all of them.
func TestSchema_AgreesWithDecode(t *testing.T) {
	of := schemas(t)
	for _, name := range fixtureNames(t) {
		schema := of(name)
		eachMutation(t, fixtureBody(t, name), func(change string, body []byte) {
			m := fixture(t, name)
			m.Data = body
			_, decodeErr := events.Decode(m)
			if decodeErr != nil && strings.HasPrefix(decodeErr.Error(), "subject: ") {
				return
			}
			schemaErr := schema.Validate(jsonValue(t, body))
			if (decodeErr == nil) != (schemaErr == nil) {
				t.Errorf("%s, %s: Decode = %v, schema = %v, want both to agree", name, change, decodeErr, schemaErr)
			}
		})
	}
}

// eachMutation calls check with the body once per member and per value of that member. change describes the mutation.
func eachMutation(t *testing.T, body []byte, check func(change string, body []byte)) {
	t.Helper()
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"null": nil, "a number": 7.0, "a fraction": 0.5, "a string": "word", "an empty string": "", "NUL": "\x00", "a boolean": true, "an array": []any{}, "an object": map[string]any{},
	}
	var walk func(at string, v any, put func(any), remove func())
	walk = func(at string, v any, put func(any), remove func()) {
		try := func(what string) {
			mutated, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			check(at+": "+what, mutated)
		}
		for what, value := range values {
			put(value)
			try(what)
		}
		if remove != nil {
			remove()
			try("left out")
		}
		put(v)
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) { // walk changes v
				walk(path.Join(at, name), v[name], func(to any) { v[name] = to }, func() { delete(v, name) })
			}
		case []any:
			for i, element := range v {
				walk(path.Join(at, "element"), element, func(to any) { v[i] = to }, nil)
			}
		}
	}
	walk("/", root, func(to any) { root = to }, nil)
}

// node is the part of a JSON Schema that defines members.
type node struct {
	Ref        string          `json:"$ref"`
	Required   []string        `json:"required"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	AnyOf      []node          `json:"anyOf"`
	Defs       map[string]node `json:"$defs"`
}

func TestSchema_HasTheMembersOfTheGoTypes(t *testing.T) {
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
	defs map[string]node // those of defs.schema.json and of the entity's schema
}

// compare compares a schema with the Go type of the same value, at any depth.
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
		c.t.Errorf("%s: Go type = %s, want a struct, as the schema has members", at, typ)
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
			c.t.Errorf("%s/%s is in the Go type but not in the schema", at, name)
		}
	}
	for name := range n.Properties {
		if !slices.Contains(members, name) {
			c.t.Errorf("%s/%s is in the schema but not in the Go type %s", at, name, typ)
		}
	}
	slices.Sort(required)
	slices.Sort(n.Required)
	if !slices.Equal(required, n.Required) {
		c.t.Errorf("%s: required members = %q, want those that %s cannot leave out: %q", at, n.Required, typ, required)
	}
}

// resolve follows references, and takes the first part of "anyOf: [x, null]".
func (c memberCheck) resolve(n node) node {
	c.t.Helper()
	if n.Ref != "" {
		_, name, _ := strings.Cut(n.Ref, "#/$defs/")
		target, ok := c.defs[name]
		if !ok {
			c.t.Errorf("%s has no target", n.Ref)
		}
		return c.resolve(target)
	}
	if len(n.AnyOf) == 2 && n.AnyOf[1].Ref == "" && n.AnyOf[1].Properties == nil {
		return c.resolve(n.AnyOf[0])
	}
	return n
}

type asyncRef struct {
	Ref string `yaml:"$ref"`
}

// asyncAPI is the part of the document that lists channels, operations and messages.
type asyncAPI struct {
	AsyncAPI string `yaml:"asyncapi"`
	Channels map[string]struct {
		Address    string              `yaml:"address"`
		Parameters map[string]asyncRef `yaml:"parameters"`
		Messages   map[string]asyncRef `yaml:"messages"`
	} `yaml:"channels"`
	Operations map[string]struct {
		Action  string   `yaml:"action"`
		Channel asyncRef `yaml:"channel"`
	} `yaml:"operations"`
	Components struct {
		Messages map[string]struct {
			Name    string     `yaml:"name"`
			Traits  []asyncRef `yaml:"traits"`
			Payload struct {
				Schema asyncRef `yaml:"schema"`
			} `yaml:"payload"`
		} `yaml:"messages"`
	} `yaml:"components"`
}

func TestAsyncAPI_HasEveryEntity(t *testing.T) {
	var doc asyncAPI
	data, err := fs.ReadFile(events.Documents(), "asyncapi.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.AsyncAPI, "3.") {
		t.Errorf("asyncapi = %q, want 3.x", doc.AsyncAPI)
	}
	if n := len(events.Entities()); len(doc.Channels) != n || len(doc.Operations) != n || len(doc.Components.Messages) != 2*n {
		t.Errorf("channels = %d, operations = %d, messages = %d, want %d, %d and %d",
			len(doc.Channels), len(doc.Operations), len(doc.Components.Messages), n, n, 2*n)
	}
	for _, entity := range events.Entities() {
		name := camelCase(string(entity))
		channel := doc.Channels[name]
		system := "{system}"
		if entity == events.EntityGroup {
			system = events.Global
		}
		if want := "phones." + system + "." + string(entity); channel.Address != want {
			t.Errorf("address of %s = %q, want %q", entity, channel.Address, want)
		}
		if got, want := slices.Sorted(maps.Keys(channel.Messages)), []string{"changed", "deleted"}; !slices.Equal(got, want) {
			t.Errorf("messages of %s = %q, want %q", entity, got, want)
		}
		operation := doc.Operations["receive"+strings.ToUpper(name[:1])+name[1:]]
		if operation.Action != "receive" || operation.Channel.Ref != "#/channels/"+name {
			t.Errorf("operation of %s = %+v, want receive from #/channels/%s", entity, operation, name)
		}
		for kind, schema := range map[string]string{
			"Changed": "./schemas/" + string(entity) + ".schema.json",
			"Deleted": "./schemas/deletion.schema.json#/$defs/" + string(entity),
		} {
			message := doc.Components.Messages[name+kind]
			if want := "callboard." + string(entity) + "." + strings.ToLower(kind); message.Name != want {
				t.Errorf("message = %q, want %q", message.Name, want)
			}
			if message.Payload.Schema.Ref != schema || len(message.Traits) != 1 {
				t.Errorf("message %s = %+v, want the schema %s and one trait", message.Name, message, schema)
			}
			if ref := channel.Messages[strings.ToLower(kind)].Ref; ref != "#/components/messages/"+name+kind {
				t.Errorf("reference of the channel to %s = %s", message.Name, ref)
			}
		}
	}
}

func camelCase(entity string) string {
	words := strings.Split(entity, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

func TestDocuments_ReferencesHaveTargets(t *testing.T) {
	documents := map[string]any{}
	err := fs.WalkDir(events.Documents(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(events.Documents(), name)
		if err != nil {
			return err
		}
		var v any
		if path.Ext(name) == ".json" {
			err = json.Unmarshal(data, &v)
		} else {
			err = yaml.Unmarshal(data, &v)
		}
		documents[name] = v
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range documents {
		eachReference(v, func(ref string) {
			file, pointer, _ := strings.Cut(ref, "#")
			target := documents[name]
			if file != "" {
				target = documents[path.Join(path.Dir(name), file)]
			}
			if !hasTarget(target, pointer) {
				t.Errorf("%s: reference %s has no target", name, ref)
			}
		})
	}
}

func eachReference(v any, check func(ref string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if ref, ok := member.(string); ok && name == "$ref" {
				check(ref)
			}
			eachReference(member, check)
		}
	case []any:
		for _, element := range v {
			eachReference(element, check)
		}
	}
}

// hasTarget reports whether a JSON pointer into v has a value.
func hasTarget(v any, pointer string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if name == "" {
			continue
		}
		members, ok := v.(map[string]any)
		if !ok {
			return false
		}
		v = members[name]
	}
	return v != nil
}
