package eventstest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// importRules says which folders of this module a folder and the folders below it may import, each with what is
// below it. The row of the longest folder counts. Only cmd may import everything.
func importRules() map[string][]string {
	return map[string][]string{
		"cmd":     {"events", "internal", "projector", "readapi", "schema"},
		"events":  {"events"},
		"schema":  {"schema"},
		"readapi": {"events", "readapi", "schema"},

		"internal/run":          {"events", "internal/run", "readapi/access", "readapi/audio", "schema"},
		"internal/runprojector": {"events", "internal/run", "projector", "schema"},
		"internal/runreadapi":   {"events", "internal/run", "readapi", "schema"},
		"internal/runwebhooks":  {"events/webhook", "internal/run", "projector/webhook", "schema"},

		"projector":                {"events", "projector", "schema"},
		"projector/fold":           {"events"},
		"projector/store":          {"events", "projector/fold", "schema"},
		"projector/webhook":        {"events/webhook", "projector/webhook", "schema"},
		"projector/webhook/egress": {},

		// Harnesses of tests.
		"schema/schematest":       {"events/eventstest", "schema"},
		"projector/projectortest": {"events", "projector", "schema"},
	}
}

// Packages import what their rows allow. Only tests and their harnesses import harnesses.
func TestImports(t *testing.T) {
	rules := importRules()
	for folder, imports := range moduleImports(t, filepath.Join("..", "..")) {
		row := folder
		for rules[row] == nil && row != "." {
			row = filepath.Dir(row)
		}
		if rules[row] == nil {
			t.Errorf("no row for %s", folder)
		}
		for _, imported := range imports {
			if !slices.ContainsFunc(rules[row], func(allowed string) bool { return within(imported, allowed) }) {
				t.Errorf("%s imports %s, which the row of %s does not allow", folder, imported, row)
			}
			if isHarness(imported) && !isHarness(folder) {
				t.Errorf("%s imports %s, which is for tests", folder, imported)
			}
		}
	}
}

// within tells whether a folder is another one, or below it.
func within(folder, other string) bool { return strings.HasPrefix(folder+"/", other+"/") }

// isHarness tells whether a folder is for tests: it, or one above it, is named so.
func isHarness(folder string) bool { return strings.Contains(folder+"/", "test/") }

// moduleImports returns the folders that have Go files, and which folders of this module their files import,
// without tests but whatever their build constraints are. Folders of other modules are left out.
func moduleImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := make(map[string][]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if modules, _ := filepath.Glob(filepath.Join(path, "go.mod")); entry.IsDir() && path != root && len(modules) > 0 {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}

		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		list := imports[folder]
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if imported, ours := strings.CutPrefix(name, "callboard/"); ours && !slices.Contains(list, imported) {
				list = append(list, imported)
			}
		}
		imports[folder] = list
		return nil
	})
	if err != nil || len(imports) < 20 {
		t.Fatalf("folders = %d, %v: the walk is broken", len(imports), err)
	}
	return imports
}
