package events_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"callboard/events"
)

// schemas compiles the documents' JSON Schemas; the function returned finds the one of a fixture's data.
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
			t.Errorf("%s: accepted", r.name)
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

// Decode and the schema agree on every member of every fixture left out, nulled, or of another type.
func TestSchema_AgreesWithDecode(t *testing.T) {
	of := schemas(t)
	for _, name := range fixtureNames(t) {
		schema := of(name)
		eachMutation(t, fixtureBody(t, name), func(what string, body []byte) {
			m := fixture(t, name)
			m.Data = body
			_, decodeErr := events.Decode(m)
			if decodeErr != nil && strings.HasPrefix(decodeErr.Error(), "subject: ") {
				return
			}
			schemaErr := schema.Validate(jsonValue(t, body))
			if (decodeErr == nil) != (schemaErr == nil) {
				t.Errorf("%s, %s: Decode says %v, the schema %v", name, what, decodeErr, schemaErr)
			}
		})
	}
}

// eachMutation calls check with the body once per place in it and per value put there.
func eachMutation(t *testing.T, body []byte, check func(what string, body []byte)) {
	t.Helper()
	var root any
	if err := json.Unmarshal(body, &root); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"null": nil, "a number": 7.0, "a fraction": 0.5, "a word": "word", "no word": "", "NUL": "\x00", "a boolean": true, "an array": []any{}, "an object": map[string]any{},
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
			for name, member := range v {
				walk(path.Join(at, name), member, func(to any) { v[name] = to }, func() { delete(v, name) })
			}
		case []any:
			for i, element := range v {
				walk(path.Join(at, "element"), element, func(to any) { v[i] = to }, nil)
			}
		}
	}
	walk("/", root, func(to any) { root = to }, nil)
}

func TestSchema_OfNoEntity(t *testing.T) {
	if events.Schema("../asyncapi") != nil || events.Schema("defs") != nil {
		t.Error("a schema of no entity")
	}
	for _, entity := range events.Entities() {
		if !json.Valid(events.Schema(entity)) {
			t.Errorf("%s: no JSON", entity)
		}
	}
	if !json.Valid(events.DeletionSchema()) {
		t.Error("deletions: no JSON")
	}
}
