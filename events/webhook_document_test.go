package events_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"callboard/events"
	"callboard/events/webhook"
)

// webhookBodies are the bodies of every kind: two of a transcript, which is that of a call or of a voicemail.
func webhookBodies() map[webhook.Kind][][]byte {
	data := webhook.Data{PhoneSystemID: uuid.New(), CallSid: "CA1"}
	recording, call, voicemail := data, data, data
	recording.RecordingSid, call.CallLogID, voicemail.VoicemailID = "RE1", uuid.New(), uuid.New()
	bodies := make(map[webhook.Kind][][]byte)
	for kind, list := range map[webhook.Kind][]webhook.Data{
		webhook.CallEnded:              {data},
		webhook.RecordingAvailable:     {recording},
		webhook.TranscriptionCompleted: {call, voicemail},
		webhook.VoicemailCreated:       {voicemail},
		webhook.AnalysisCompleted:      {call},
	} {
		for _, data := range list {
			bodies[kind] = append(bodies[kind], webhook.Event{Type: kind, Timestamp: time.Now(), Data: data}.Body())
		}
	}
	return bodies
}

func TestWebhookSchema_AcceptsOwnKindOnly(t *testing.T) {
	of := webhookSchemas(t)
	bodies := webhookBodies()
	for _, kind := range webhook.Kinds() {
		if len(bodies[kind]) == 0 {
			t.Errorf("bodies of %s = 0, want some", kind)
		}
		for _, body := range bodies[kind] {
			if err := of("").Validate(jsonValue(t, body)); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			for _, other := range webhook.Kinds() {
				if err := of(other).Validate(jsonValue(t, body)); (err == nil) != (other == kind) {
					t.Errorf("%s by the schema of %s: error = %v, want one: %t", body, other, err, other != kind)
				}
			}
		}
	}
}

// Every member is required, must match its format, and no other member is allowed.
func TestWebhookSchema_RefusesOtherMembers(t *testing.T) {
	of := webhookSchemas(t)
	for kind, list := range webhookBodies() {
		for _, body := range list {
			for what, changed := range changedMembers(t, body) {
				if of(kind).Validate(changed) == nil || of("").Validate(changed) == nil {
					t.Errorf("%s, %s: accepted, want a refusal", body, what)
				}
			}
		}
	}
}

// changedMembers returns bodies with one member more, one less, or one whose value is malformed.
func changedMembers(t *testing.T, body []byte) map[string]any {
	t.Helper()
	changed := make(map[string]any)
	change := func(what string, edit func(root, data map[string]any)) {
		root := jsonValue(t, body).(map[string]any)
		edit(root, root["data"].(map[string]any))
		changed[what] = root
	}
	change("one more", func(root, _ map[string]any) { root["more"] = "1" })
	change("one more in data", func(_, data map[string]any) { data["more"] = "1" })
	change("both owners", func(_, data map[string]any) {
		data["callLogId"], data["voicemailId"], data["recordingSid"] = uuid.NewString(), uuid.NewString(), "RE1"
	})
	change("an id in capitals", func(_, data map[string]any) { data["phoneSystemId"] = strings.ToUpper(uuid.NewString()) + "A" })
	change("a time without milliseconds", func(root, _ map[string]any) { root["timestamp"] = "2026-03-02T09:33:12Z" })
	root := jsonValue(t, body).(map[string]any)
	for name := range root {
		change("without "+name, func(root, _ map[string]any) { delete(root, name) })
		change("null "+name, func(root, _ map[string]any) { root[name] = nil })
	}
	for name := range root["data"].(map[string]any) {
		change("without data/"+name, func(_, data map[string]any) { delete(data, name) })
		change("null data/"+name, func(_, data map[string]any) { data[name] = nil })
		change("empty data/"+name, func(_, data map[string]any) { data[name] = "" })
	}
	return changed
}

// webhookSchemas returns the schema of a kind; of the empty kind, that of any.
func webhookSchemas(t *testing.T) func(kind webhook.Kind) *jsonschema.Schema {
	t.Helper()
	const url = "file:///webhook.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(url, jsonValue(t, document(t, "schemas/webhook.schema.json"))); err != nil {
		t.Fatal(err)
	}
	return func(kind webhook.Kind) *jsonschema.Schema {
		fragment := ""
		if kind != "" {
			fragment = "#/$defs/" + string(kind)
		}
		schema, err := compiler.Compile(url + fragment)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
}

func document(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(events.Documents(), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// webhookOpenAPI is the part of the document that this test compares.
type webhookOpenAPI struct {
	Paths    any                                            `json:"paths"`
	Webhooks map[webhook.Kind]map[string]openAPIWebhookPost `json:"webhooks"`
}

type openAPIWebhookPost struct {
	Parameters []struct {
		Ref string `json:"$ref"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]openAPIWebhookContent `json:"content"`
	} `json:"requestBody"`
	Responses map[string]any `json:"responses"`
}

type openAPIWebhookContent struct {
	Schema struct {
		Ref string `json:"$ref"`
	} `json:"schema"`
	Example  any `json:"example"`
	Examples map[string]struct {
		Value any `json:"value"`
	} `json:"examples"`
}

// examples returns the one example, or all of them.
func (c openAPIWebhookContent) examples() []any {
	list := []any{c.Example}
	if c.Example == nil {
		list = nil
	}
	for _, example := range c.Examples {
		list = append(list, example.Value)
	}
	return list
}

func TestWebhookOpenAPI(t *testing.T) {
	data := document(t, "webhooks.openapi.json")
	checked, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Validate(t.Context()); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
	var doc webhookOpenAPI
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(checked.OpenAPI, "3.1.") || doc.Paths != nil || len(doc.Webhooks) != len(webhook.Kinds()) {
		t.Errorf("version = %s, paths = %v, webhooks = %d, want 3.1, none and %d", checked.OpenAPI, doc.Paths, len(doc.Webhooks), len(webhook.Kinds()))
	}
	of := webhookSchemas(t)
	for _, kind := range webhook.Kinds() {
		post := doc.Webhooks[kind]["post"]
		content := post.RequestBody.Content["application/json"]
		if want := "#/components/schemas/" + string(kind); content.Schema.Ref != want || len(doc.Webhooks[kind]) != 1 {
			t.Errorf("%s: methods = %d, schema = %s, want one with %s", kind, len(doc.Webhooks[kind]), content.Schema.Ref, want)
		}
		if len(post.Parameters) != 3 || post.Responses["2XX"] == nil || post.Responses["410"] == nil {
			t.Errorf("%s: headers = %v, responses = %v, want three headers, and what 2XX and 410 mean", kind, post.Parameters, post.Responses)
		}
		expectExamples(t, of(kind), content.examples())
	}
}

func expectExamples(t *testing.T, schema *jsonschema.Schema, examples []any) {
	t.Helper()
	if len(examples) == 0 {
		t.Errorf("examples for %s = 0, want some", schema.Location)
	}
	for _, example := range examples {
		if err := schema.Validate(example); err != nil {
			t.Errorf("example %v: %v", example, err)
		}
	}
}

// webhookAsyncAPI is the part of the document that this test compares.
type webhookAsyncAPI struct {
	AsyncAPI string `yaml:"asyncapi"`
	Channels map[string]struct {
		Messages map[webhook.Kind]asyncRef `yaml:"messages"`
	} `yaml:"channels"`
	Operations map[string]struct {
		Action   string     `yaml:"action"`
		Channel  asyncRef   `yaml:"channel"`
		Traits   []asyncRef `yaml:"traits"`
		Messages []asyncRef `yaml:"messages"`
	} `yaml:"operations"`
	Components struct {
		Messages map[webhook.Kind]struct {
			Name    string     `yaml:"name"`
			Traits  []asyncRef `yaml:"traits"`
			Payload struct {
				Schema asyncRef `yaml:"schema"`
			} `yaml:"payload"`
			Examples []struct {
				Payload any `yaml:"payload"`
			} `yaml:"examples"`
		} `yaml:"messages"`
	} `yaml:"components"`
}

func TestWebhookAsyncAPI(t *testing.T) {
	var doc webhookAsyncAPI
	if err := yaml.Unmarshal(document(t, "webhooks.asyncapi.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	n := len(webhook.Kinds())
	if !strings.HasPrefix(doc.AsyncAPI, "3.") || len(doc.Channels) != 1 || len(doc.Operations) != n || len(doc.Components.Messages) != n {
		t.Errorf("version = %s, channels = %d, operations = %d, messages = %d, want 3, 1, %d and %d",
			doc.AsyncAPI, len(doc.Channels), len(doc.Operations), len(doc.Components.Messages), n, n)
	}
	of := webhookSchemas(t)
	for _, kind := range webhook.Kinds() {
		name := string(kind)
		operation, message := doc.Operations["send."+name], doc.Components.Messages[kind]
		if got, want := doc.Channels["endpoint"].Messages[kind].Ref, "#/components/messages/"+name; got != want {
			t.Errorf("the channel's message = %q, want %q", got, want)
		}
		messages, traits := []asyncRef{{"#/channels/endpoint/messages/" + name}}, []asyncRef{{"#/components/operationTraits/post"}}
		if operation.Action != "send" || operation.Channel.Ref != "#/channels/endpoint" || !slices.Equal(operation.Messages, messages) ||
			!slices.Equal(operation.Traits, traits) {
			t.Errorf("operation of %s = %+v, want to send %v with %v", kind, operation, messages, traits)
		}
		if message.Name != name || message.Payload.Schema.Ref != "#/components/schemas/"+name ||
			!slices.Equal(message.Traits, []asyncRef{{"#/components/messageTraits/webhook"}}) {
			t.Errorf("message of %s = %+v, want its name, its schema and the headers", kind, message)
		}
		var examples []any
		for _, example := range message.Examples {
			examples = append(examples, example.Payload)
		}
		expectExamples(t, of(kind), examples)
	}
}

// Both documents contain the schemas of the bodies, and the same headers, whose examples are those of the first
// test vector.
func TestWebhookDocuments_Agree(t *testing.T) {
	var schema, open, async map[string]any
	for name, into := range map[string]*map[string]any{"schemas/webhook.schema.json": &schema, "webhooks.openapi.json": &open} {
		if err := json.Unmarshal(document(t, name), into); err != nil {
			t.Fatal(err)
		}
	}
	if err := yaml.Unmarshal(document(t, "webhooks.asyncapi.yaml"), &async); err != nil {
		t.Fatal(err)
	}
	want := normalized(t, schema["$defs"], "#/$defs/")
	for name, doc := range map[string]map[string]any{"OpenAPI": open, "AsyncAPI": async} {
		if got := normalized(t, at(doc, "components", "schemas"), "#/components/schemas/"); !reflect.DeepEqual(got, want) {
			t.Errorf("schemas of the %s document = %v, want those of webhook.schema.json, %v", name, got, want)
		}
	}
	compareHeaders(t, open, at(async, "components", "messageTraits", "webhook", "headers", "properties").(map[string]any))
}

func compareHeaders(t *testing.T, open, headers map[string]any) {
	t.Helper()
	var vectors struct {
		Vectors []struct {
			Headers map[string]string `json:"headers"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(document(t, "webhooks.vectors.json"), &vectors); err != nil {
		t.Fatal(err)
	}
	names := []string{webhook.HeaderID, webhook.HeaderSignature, webhook.HeaderTimestamp}
	if got := slices.Sorted(maps.Keys(headers)); !slices.Equal(got, names) {
		t.Errorf("headers = %v, want %v", got, names)
	}
	for _, name := range names {
		parameter := at(open, "components", "parameters", name).(map[string]any)
		got := []any{parameter["name"], parameter["in"], parameter["required"], parameter["description"], at(parameter, "schema", "pattern"), parameter["example"]}
		header := headers[name].(map[string]any)
		if want := []any{name, "header", true, header["description"], header["pattern"], header["examples"].([]any)[0]}; !reflect.DeepEqual(got, want) {
			t.Errorf("header of the OpenAPI document = %v, want that of the AsyncAPI document, %v", got, want)
		}
		if want := vectors.Vectors[0].Headers[name]; parameter["example"] != want {
			t.Errorf("example of %s = %v, want %s", name, parameter["example"], want)
		}
	}
}

// at returns a member of a member.
func at(v any, names ...string) any {
	for _, name := range names {
		members, _ := v.(map[string]any)
		v = members[name]
	}
	return v
}

// normalized returns a document's schemas as JSON has them, with references without their prefix.
func normalized(t *testing.T, schemas any, prefix string) any {
	t.Helper()
	text, err := json.Marshal(schemas)
	if err != nil {
		t.Fatal(err)
	}
	return jsonValue(t, []byte(strings.ReplaceAll(string(text), `"`+prefix, `"`)))
}
