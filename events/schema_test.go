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

// Decode and the schema accept each fixture. Each of its members is left out, set to null and set to values of other
// types, and they must agree on all of them.
func TestSchema_AgreesWithDecode(t *testing.T) {
	of := schemas(t)
	for _, name := range fixtureNames(t) {
		decoded(t, name)
		schema := of(name)
		if err := schema.Validate(jsonValue(t, fixtureBody(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
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

// A schema has the members of the Go type, and requires the members that the type cannot leave out.
func TestSchema_HasTheMembersOfTheGoTypes(t *testing.T) {
	shared := at(document(t, "schemas/defs.schema.json"), "$defs").(map[string]any)
	for _, entity := range events.Entities() {
		schema := document(t, "schemas/"+string(entity)+".schema.json")
		defs := maps.Clone(shared)
		own, _ := at(schema, "$defs").(map[string]any)
		maps.Copy(defs, own)
		got, want := schemaMembers("", schema, defs), goMembers("", reflect.TypeOf(newState(entity)).Elem())
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("members of the schema of %s =\n%q, want those of the Go type,\n%q", entity, got, want)
		}
	}
}

func isNull(typ reflect.Type) bool { return strings.HasPrefix(typ.Name(), "Null[") }

// goMembers returns the paths of a type's members, at any depth. The paths of required ones end with "!".
func goMembers(path string, typ reflect.Type) (list []string) {
	switch {
	case typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice:
		return goMembers(path, typ.Elem())
	case typ.Kind() != reflect.Struct || isNull(typ):
		return nil
	}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		member := path + "/" + name
		list = append(list, goMembers(member, field.Type)...)
		if field.Type.Kind() != reflect.Pointer && !isNull(field.Type) && options == "" {
			member += "!"
		}
		list = append(list, member)
	}
	return list
}

// schemaMembers returns what goMembers does of a schema. Of "anyOf: [x, null]" it takes the first.
func schemaMembers(path string, schema any, defs map[string]any) (list []string) {
	if ref, ok := at(schema, "$ref").(string); ok {
		_, name, _ := strings.Cut(ref, "#/$defs/")
		return schemaMembers(path, defs[name], defs)
	}
	if either, ok := at(schema, "anyOf").([]any); ok && len(either) == 2 {
		return schemaMembers(path, either[0], defs)
	}
	if items := at(schema, "items"); items != nil {
		return schemaMembers(path, items, defs)
	}
	properties, _ := at(schema, "properties").(map[string]any)
	required, _ := at(schema, "required").([]any)
	for name, property := range properties {
		member := path + "/" + name
		list = append(list, schemaMembers(member, property, defs)...)
		if slices.Contains(required, any(name)) {
			member += "!"
		}
		list = append(list, member)
	}
	return list
}

// at returns a member of a document by its path: names with spaces between them.
func at(document any, path string) any {
	for name := range strings.FieldsSeq(path) {
		members, _ := document.(map[string]any)
		document = members[name]
	}
	return document
}

// requireMembers compares members of a document, by path.
func requireMembers(t *testing.T, document any, want map[string]any) {
	t.Helper()
	for path, value := range want {
		if got := at(document, path); !reflect.DeepEqual(got, value) {
			t.Errorf("%s = %v, want %v", path, got, value)
		}
	}
}

// requireCounts compares the numbers of members, by path.
func requireCounts(t *testing.T, document any, want map[string]int) {
	t.Helper()
	for path, count := range want {
		if members, _ := at(document, path).(map[string]any); len(members) != count {
			t.Errorf("members of %s = %d, want %d", path, len(members), count)
		}
	}
}

// references returns a list of references.
func references(to ...string) (list []any) {
	for _, target := range to {
		list = append(list, map[string]any{"$ref": target})
	}
	return list
}

func TestAsyncAPI_HasEveryEntity(t *testing.T) {
	doc := document(t, "asyncapi.yaml")
	n := len(events.Entities())
	requireMembers(t, doc, map[string]any{"asyncapi": "3.0.0"})
	requireCounts(t, doc, map[string]int{"channels": n, "operations": n, "components messages": 2 * n})
	for _, entity := range events.Entities() {
		name, system := camelCase(string(entity)), "{system}"
		if entity == events.EntityGroup {
			system = events.Global
		}
		channel, operation := "channels "+name, "operations receive"+strings.ToUpper(name[:1])+name[1:]
		requireCounts(t, doc, map[string]int{channel + " messages": 2})
		requireMembers(t, doc, map[string]any{
			channel + " address":        "phones." + system + "." + string(entity),
			operation + " action":       "receive",
			operation + " channel $ref": "#/channels/" + name,
		})
		for kind, schema := range map[string]string{
			"Changed": "./schemas/" + string(entity) + ".schema.json",
			"Deleted": "./schemas/deletion.schema.json#/$defs/" + string(entity),
		} {
			message, kind := "components messages "+name+kind, strings.ToLower(kind)
			requireMembers(t, doc, map[string]any{
				channel + " messages " + kind + " $ref": "#/" + strings.ReplaceAll(message, " ", "/"),
				message + " name":                       "callboard." + string(entity) + "." + kind,
				message + " traits":                     references("#/components/messageTraits/event"),
				message + " payload schema $ref":        schema,
			})
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

func documentText(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(events.Documents(), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// document returns the value of a JSON or YAML document.
func document(t *testing.T, name string) (v any) {
	t.Helper()
	if path.Ext(name) == ".json" {
		return jsonValue(t, documentText(t, name))
	}
	if err := yaml.Unmarshal(documentText(t, name), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// References have targets. A string with a limit in bytes cannot have more characters.
func TestDocuments(t *testing.T) {
	documents := map[string]any{}
	err := fs.WalkDir(events.Documents(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			documents[name] = document(t, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range documents {
		eachObject(v, func(members map[string]any) {
			if ref, ok := members["$ref"].(string); ok {
				file, pointer, _ := strings.Cut(ref, "#")
				target := documents[name]
				if file != "" {
					target = documents[path.Join(path.Dir(name), file)]
				}
				if at(target, strings.ReplaceAll(pointer, "/", " ")) == nil {
					t.Errorf("%s: reference %s has no target", name, ref)
				}
			}
			bytes, limited := members["x-max-bytes"]
			if characters, text := members["maxLength"]; limited && text && characters != bytes {
				t.Errorf("%s: maxLength = %v, want x-max-bytes, %v", name, characters, bytes)
			}
		})
	}
}

// eachObject calls check for each object within a value.
func eachObject(v any, check func(members map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		check(v)
		for _, member := range v {
			eachObject(member, check)
		}
	case []any:
		for _, element := range v {
			eachObject(element, check)
		}
	}
}
