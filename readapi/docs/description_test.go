package docs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"callboard/readapi/docs"
)

const baseURL = "https://phones.example.com/v1"

func loadApprovals(tb testing.TB) docs.Approvals {
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

// validated parses the description and fails the test unless it is valid OpenAPI 3.1.
func validated(tb testing.TB, description []byte) *openapi3.T {
	tb.Helper()
	document, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		tb.Fatal(err)
	}
	if err := document.Validate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return document
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	document := validated(t, describe(t, loadApprovals(t)))
	if !strings.HasPrefix(document.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI version = %s, want 3.1", document.OpenAPI)
	}
	if len(document.Servers) != 1 || document.Servers[0].URL != baseURL {
		t.Errorf("servers = %v, want only %s", document.Servers, baseURL)
	}
	for _, item := range document.Paths.Map() {
		o := item.Get
		if o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || document.Tags.Get(o.Tags[0]) == nil {
			t.Errorf("%s: summary = %q, description = %q, tags = %v, want all of them and one tag", o.OperationID, o.Summary, o.Description, o.Tags)
		}
		if scope, ok := o.Extensions["x-required-scope"].(string); ok && !strings.Contains(o.Description, "`"+scope+"`") {
			t.Errorf("%s: the description does not mention the scope %s", o.OperationID, scope)
		}
	}
}

// Operations without an approval are left out, together with the tags and components that only they use.
func TestDescribe_LeavesOutUnapproved(t *testing.T) {
	t.Parallel()
	var approvals docs.Approvals
	for _, a := range loadApprovals(t) {
		if !strings.Contains(a.Operation, "Voicemail") {
			approvals = append(approvals, a)
		}
	}
	description := describe(t, approvals)
	document := validated(t, description)
	n, tag, schema := document.Paths.Len(), document.Tags.Get("Voicemails"), document.Components.Schemas["VoicemailDetail"]
	if n != 22 || tag != nil || schema != nil {
		t.Errorf("without an approval of voicemails: paths = %d, tag = %v, schema = %v, want 22, none and none", n, tag, schema)
	}
	for _, text := range []string{"listVoicemails", "voicemailId\"", "#/components/schemas/Voicemail"} {
		if strings.Contains(string(description), text) {
			t.Errorf("the description contains %s without an approval", text)
		}
	}
}

func TestDescribe_Stages(t *testing.T) {
	t.Parallel()
	approvals := loadApprovals(t)
	approvals[0].Stage, approvals[1].Stage = docs.Deprecated, docs.Stable
	document := validated(t, describe(t, approvals))
	discovery := document.Paths.Find("/customer/phone-systems").Get
	if discovery.Extensions["x-lifecycle-stage"] != "deprecated" || !discovery.Deprecated {
		t.Errorf("discovery: extensions = %v, deprecated = %v, want deprecated", discovery.Extensions, discovery.Deprecated)
	}
	phones := document.Paths.Find("/customer/phone-systems/{phoneSystemId}/phones").Get
	if phones.Extensions["x-lifecycle-stage"] != "stable" || phones.Deprecated {
		t.Errorf("phones: extensions = %v, deprecated = %v, want stable", phones.Extensions, phones.Deprecated)
	}
}

func TestDescribe_RefusesApprovalWithoutDescription(t *testing.T) {
	t.Parallel()
	approvals := append(loadApprovals(t), docs.Approval{Operation: "listMessages", Stage: docs.Beta})
	if _, err := docs.Describe(baseURL, approvals); err == nil || !strings.Contains(err.Error(), "listMessages") {
		t.Errorf("error = %v, want it to name listMessages", err)
	}
}

// Every member is required, except the four that responses can omit. A detail has every member of its row, with the
// same schema.
func TestDescribe_Members(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(describe(t, loadApprovals(t)), &document); err != nil {
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
				t.Errorf("%s.%s: required = %v, want %v", name, member, required[member], !optional[name+"."+member])
			}
		}
		row, isDetail := strings.CutSuffix(name, "Detail")
		for member, want := range schemas[row].Properties {
			if got := schema.Properties[member]; isDetail && string(got) != string(want) {
				t.Errorf("%s.%s = %s, want %s as in the row", name, member, got, want)
			}
		}
	}
}
