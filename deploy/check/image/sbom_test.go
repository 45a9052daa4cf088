package image

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// 'make sbom' writes what CycloneDX's own schema accepts: the modules of each program, each with a package URL.
func TestSBOM(t *testing.T) {
	t.Parallel()
	output(t, "make", "--no-print-directory", "-C", root, "sbom")
	schema := cycloneDXSchema(t)
	for _, name := range names() {
		content := []byte(read(t, "bin/sbom/"+name+".cdx.json"))
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var bom cyclonedx.BOM
		if err := cyclonedx.NewBOMDecoder(bytes.NewReader(content), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		checkBOM(t, name, &bom)
	}
}

func checkBOM(t *testing.T, name string, bom *cyclonedx.BOM) {
	t.Helper()
	main := bom.Metadata.Component
	if bom.SpecVersion != cyclonedx.SpecVersion1_6 || main.Name != "callboard/cmd/"+name {
		t.Errorf("specification, component = %v, %s, want 1.6, callboard/cmd/%s", bom.SpecVersion, main.Name, name)
	}
	if main.Hashes == nil || (*main.Hashes)[0].Value != digest(t, program(root, name)) {
		t.Errorf("hashes of %s = %v, want the program's SHA-256", name, main.Hashes)
	}
	var modules []string
	for _, c := range *bom.Components {
		if !strings.HasPrefix(c.PackageURL, "pkg:golang/") || !strings.Contains(c.PackageURL, "@") {
			t.Errorf("package URL of %s %s = %s", c.Name, c.Version, c.PackageURL)
		}
		modules = append(modules, c.Name)
	}
	for _, want := range []string{"std", "github.com/nats-io/nats.go", "github.com/jackc/pgx/v5"} {
		if !strings.Contains(strings.Join(modules, " "), want) {
			t.Errorf("modules of %s = %v, want %s among them", name, modules, want)
		}
	}
}

// cycloneDXSchema compiles the schema that CycloneDX's Go module brings.
func cycloneDXSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir := strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go"))
	compiler := jsonschema.NewCompiler()
	const base = "http://cyclonedx.org/schema/"
	for url, name := range map[string]string{
		base + "bom-1.6.schema.json":  "bom-1.6.schema.json",
		base + "jsf-0.82.schema.json": "jsf-0.82.schemax.json",
		base + "spdx.schema.json":     "spdx.schema.json",
	} {
		file, err := os.Open(filepath.Join(dir, "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		document, err := jsonschema.UnmarshalJSON(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
