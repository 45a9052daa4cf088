// Package goclient tests that oapi-codegen generates a Go client from the OpenAPI description, and that the client
// compiles.
package goclient

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	_ "github.com/oapi-codegen/runtime" // the generated client imports it
)

// The go command does not see that this test depends on the description: run it with -count=1.
func TestGoClientCompiles(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(describe(t))
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

// describe runs a program of the module callboard, so that this module does not require it and all that it requires.
func describe(t *testing.T) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", "readapi/docs/goclient/testdata/describe.go")
	command.Dir = "../../.."
	command.Stderr = os.Stderr
	description, err := command.Output()
	if err != nil {
		t.Fatalf("describe: %v", err)
	}
	return description
}
