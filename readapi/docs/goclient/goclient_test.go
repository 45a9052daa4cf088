// Package goclient tests that oapi-codegen generates a Go client from the OpenAPI description, and that the client compiles.
package goclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	_ "github.com/oapi-codegen/runtime" // the generated client imports it

	"callboard/readapi/docs"
)

func TestGoClientCompiles(t *testing.T) {
	approvals, err := docs.LoadApprovals()
	if err != nil {
		t.Fatal(err)
	}
	description, err := docs.Describe("https://phones.example.com/v1", approvals)
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		t.Fatal(err)
	}
	code, err := codegen.Generate(document, codegen.Configuration{
		PackageName: "client",
		Generate:    codegen.GenerateOptions{Models: true, Client: true},
	})
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	file := filepath.Join(t.TempDir(), "client.go")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("compile: %v\n%s", err, out)
	}
}
