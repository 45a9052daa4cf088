package docs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"callboard/readapi/docs"
)

const baseURL = "https://phones.example.com/v1"

func approved(tb testing.TB) docs.Approvals {
	tb.Helper()
	approvals, err := docs.LoadApprovals()
	if err != nil {
		tb.Fatal(err)
	}
	return approvals
}

func describe(tb testing.TB, approvals docs.Approvals) []byte {
	tb.Helper()
	description, err := docs.Describe(baseURL, approvals)
	if err != nil {
		tb.Fatal(err)
	}
	return description
}

// model is the description as an independent reader understands it, once that has found it to be valid OpenAPI 3.1.
func model(tb testing.TB, description []byte) *openapi3.T {
	tb.Helper()
	document := loaded(tb, description)
	if err := document.Validate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return document
}

func loaded(tb testing.TB, description []byte) *openapi3.T {
	tb.Helper()
	document, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		tb.Fatal(err)
	}
	return document
}

func TestDescribe(t *testing.T) {
	document := model(t, describe(t, approved(t)))
	if !strings.HasPrefix(document.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI %s", document.OpenAPI)
	}
	if len(document.Servers) != 1 || document.Servers[0].URL != baseURL {
		t.Errorf("servers %v", document.Servers)
	}
	if document.Paths.Len() != 24 {
		t.Errorf("%d paths, the contract has 24", document.Paths.Len())
	}
	for path, item := range document.Paths.Map() {
		o := item.Get
		if len(item.Operations()) != 1 || o == nil {
			t.Errorf("%s has other methods than GET", path)
			continue
		}
		if o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || document.Tags.Get(o.Tags[0]) == nil {
			t.Errorf("%s: summary %q, description %q, tags %v", o.OperationID, o.Summary, o.Description, o.Tags)
		}
		if o.Extensions["x-lifecycle-stage"] != "beta" {
			t.Errorf("%s: stage %v", o.OperationID, o.Extensions["x-lifecycle-stage"])
		}
		if scope, ok := o.Extensions["x-required-scope"].(string); ok && !strings.Contains(o.Description, "`"+scope+"`") {
			t.Errorf("%s: the description does not name %s", o.OperationID, scope)
		}
	}
}

// An operation that is not approved is not in the description, and neither is anything that it alone has.
func TestDescribe_Unapproved(t *testing.T) {
	var approvals docs.Approvals
	for _, a := range approved(t) {
		if !strings.Contains(a.Operation, "Voicemail") {
			approvals = append(approvals, a)
		}
	}
	description := describe(t, approvals)
	document := model(t, description)
	if document.Paths.Len() != 22 || document.Tags.Get("Voicemails") != nil || document.Components.Schemas["VoicemailDetail"] != nil {
		t.Error("voicemails are described without approval")
	}
	for _, left := range []string{"listVoicemails", "voicemailId\"", "#/components/schemas/Voicemail"} {
		if strings.Contains(string(description), left) {
			t.Errorf("%s is left", left)
		}
	}
}

func TestDescribe_Stages(t *testing.T) {
	approvals := approved(t)
	approvals[0].Stage, approvals[1].Stage = docs.Deprecated, docs.Stable
	document := model(t, describe(t, approvals))
	discovery := document.Paths.Find("/customer/phone-systems").Get
	if discovery.Extensions["x-lifecycle-stage"] != "deprecated" || !discovery.Deprecated {
		t.Errorf("discovery: %v, %v", discovery.Extensions, discovery.Deprecated)
	}
	phones := document.Paths.Find("/customer/phone-systems/{phoneSystemId}/phones").Get
	if phones.Extensions["x-lifecycle-stage"] != "stable" || phones.Deprecated {
		t.Errorf("phones: %v, %v", phones.Extensions, phones.Deprecated)
	}
}

func TestDescribe_Undescribed(t *testing.T) {
	approvals := append(approved(t), docs.Approval{Operation: "listMessages", Stage: docs.Beta})
	if _, err := docs.Describe(baseURL, approvals); err == nil || !strings.Contains(err.Error(), "listMessages") {
		t.Errorf("error %v", err)
	}
}

// Every member of an object is required, but for those that the contract leaves out at times; and a detail has all that its row
// has, alike.
func TestDescribe_Members(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(describe(t, approved(t)), &document); err != nil {
		t.Fatal(err)
	}
	optional := map[string]bool{"CallLogReport.transcript": true, "Problem.errors": true, "Problem.params": true, "Problem.retry_after": true}
	schemas := document.Components.Schemas
	for name, schema := range schemas {
		required := make(map[string]bool)
		for _, member := range schema.Required {
			required[member] = true
		}
		for member := range schema.Properties {
			if required[member] == optional[name+"."+member] {
				t.Errorf("%s.%s is required: %v", name, member, required[member])
			}
		}
		row, isDetail := strings.CutSuffix(name, "Detail")
		for member, written := range schemas[row].Properties {
			if isDetail && string(schema.Properties[member]) != string(written) {
				t.Errorf("%s.%s is %s, and %s on the row", name, member, schema.Properties[member], written)
			}
		}
	}
}
