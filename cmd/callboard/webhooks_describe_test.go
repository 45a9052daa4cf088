package main

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestWebhooksDescribe(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"openapi": "webhooks", "schemas": "$defs", "vectors": "vectors"} {
		r := command(t, nil, "", "webhooks", "describe", "--format", format)
		var members map[string]any
		if err := json.Unmarshal([]byte(r.out), &members); err != nil || members[want] == nil || r.code != 0 {
			t.Errorf("%s: exit code = %d, error = %v, members = %d, want JSON with %s: %s", format, r.code, err, len(members), want, r.err)
		}
	}
	if got := describedDocuments(t, "--format", "asyncapi"); len(got) != 1 || got[0]["asyncapi"] != "3.0.0" {
		t.Errorf("documents = %d, want AsyncAPI", len(got))
	}
	got := describedDocuments(t)
	if len(got) != 2 || got[0]["asyncapi"] != "3.0.0" || got[1]["openapi"] != "3.1.0" || got[1]["paths"] != nil {
		t.Errorf("documents = %d, want AsyncAPI, and OpenAPI without paths", len(got))
	}
	var members map[string]any
	r := command(t, nil, "", "webhooks", "describe", "--json")
	if err := json.Unmarshal([]byte(r.out), &members); err != nil || len(members) != 2 || members["asyncapi"] == nil || members["openapi"] == nil {
		t.Errorf("members = %d, error = %v, want asyncapi and openapi", len(members), err)
	}
	expectUsageErrors(t, nil, []string{"webhooks", "describe", "--format", "html"})
}

// describedDocuments are the documents of a YAML stream.
func describedDocuments(t *testing.T, args ...string) (documents []map[string]any) {
	t.Helper()
	r := command(t, nil, "", append([]string{"webhooks", "describe"}, args...)...)
	if r.code != 0 {
		t.Fatalf("exit code = %d, want 0: %s", r.code, r.err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(r.out))
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
	}
}
