package events_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"

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
	if err := compiler.AddResource(url, document(t, "schemas/webhook.schema.json")); err != nil {
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

func TestWebhookOpenAPI(t *testing.T) {
	checked, err := openapi3.NewLoader().LoadFromData(documentText(t, "webhooks.openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Validate(t.Context()); err != nil {
		t.Errorf("the document is not valid: %v", err)
	}
	doc := document(t, "webhooks.openapi.json")
	requireMembers(t, doc, map[string]any{"openapi": "3.1.0", "paths": nil})
	requireCounts(t, doc, map[string]int{"webhooks": len(webhook.Kinds())})
	of := webhookSchemas(t)
	for _, kind := range webhook.Kinds() {
		post := "webhooks " + string(kind) + " post"
		content := post + " requestBody content application/json"
		headers := references("#/components/parameters/webhook-id", "#/components/parameters/webhook-timestamp",
			"#/components/parameters/webhook-signature")
		requireMembers(t, doc, map[string]any{
			post + " parameters":     headers,
			content + " schema $ref": "#/components/schemas/" + string(kind),
		})
		if at(doc, post+" responses 2XX") == nil || at(doc, post+" responses 410") == nil {
			t.Errorf("%s: want what 2XX and 410 mean", kind)
		}
		var examples []any
		if example := at(doc, content+" example"); example != nil {
			examples = append(examples, example)
		}
		more, _ := at(doc, content+" examples").(map[string]any)
		for _, example := range more {
			examples = append(examples, at(example, "value"))
		}
		expectExamples(t, of(kind), examples)
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

func TestWebhookAsyncAPI(t *testing.T) {
	doc := document(t, "webhooks.asyncapi.yaml")
	n := len(webhook.Kinds())
	requireMembers(t, doc, map[string]any{"asyncapi": "3.0.0"})
	requireCounts(t, doc, map[string]int{"channels": 1, "operations": n, "components messages": n})
	of := webhookSchemas(t)
	for _, kind := range webhook.Kinds() {
		name := string(kind)
		operation, message := "operations send."+name, "components messages "+name
		requireMembers(t, doc, map[string]any{
			"channels endpoint messages " + name + " $ref": "#/components/messages/" + name,
			operation + " action":                          "send",
			operation + " channel $ref":                    "#/channels/endpoint",
			operation + " messages":                        references("#/channels/endpoint/messages/" + name),
			operation + " traits":                          references("#/components/operationTraits/post"),
			message + " name":                              name,
			message + " traits":                            references("#/components/messageTraits/webhook"),
			message + " payload schema $ref":               "#/components/schemas/" + name,
		})
		var examples []any
		list, _ := at(doc, message+" examples").([]any)
		for _, example := range list {
			examples = append(examples, at(example, "payload"))
		}
		expectExamples(t, of(kind), examples)
	}
}

// Both documents contain the schemas of the bodies, and the same headers, whose examples are those of the first
// test vector.
func TestWebhookDocuments_Agree(t *testing.T) {
	schema := document(t, "schemas/webhook.schema.json")
	open, async := document(t, "webhooks.openapi.json"), document(t, "webhooks.asyncapi.yaml")
	want := normalized(t, at(schema, "$defs"), "#/$defs/")
	for name, doc := range map[string]any{"OpenAPI": open, "AsyncAPI": async} {
		if got := normalized(t, at(doc, "components schemas"), "#/components/schemas/"); !reflect.DeepEqual(got, want) {
			t.Errorf("schemas of the %s document = %v, want those of webhook.schema.json, %v", name, got, want)
		}
	}

	vector := at(document(t, "webhooks.vectors.json"), "vectors").([]any)[0]
	headers := at(async, "components messageTraits webhook headers properties")
	requireCounts(t, headers, map[string]int{"": 3})
	for _, name := range []string{webhook.HeaderID, webhook.HeaderSignature, webhook.HeaderTimestamp} {
		example := at(vector, "headers "+name)
		requireMembers(t, at(headers, name), map[string]any{"examples": []any{example}})
		requireMembers(t, at(open, "components parameters "+name), map[string]any{
			"name": name, "in": "header", "required": true, "example": example,
			"description": at(headers, name+" description"), "schema pattern": at(headers, name+" pattern"),
		})
	}
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
