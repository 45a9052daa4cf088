package eventstest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const table = "# Tree\n\n" + importTableHeader + "\n" +
	"|---|---|---|\n" +
	"| `events` | messages | nothing |\n" +
	"| `cmd/a`, `cmd/b` | programs | everything |\n" +
	"| `projector` | the loop | `events`, `projector/...` |\n" +
	"\nText.\n| `later` | another table | nothing |\n"

func TestParseImportTable(t *testing.T) {
	got, err := parseImportTable(table)
	want := map[string]allowedImports{
		"events": nil, "cmd/a": {"..."}, "cmd/b": {"..."}, "projector": {"events", "projector/..."},
	}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("table = %v, %v, want %v", got, err, want)
	}
}

func TestParseImportTable_RefusesOtherForms(t *testing.T) {
	for name, document := range map[string]string{
		"no table":                "# Tree\n",
		"two cells":               importTableHeader + "\n| `events` | nothing |\n",
		"a folder without quotes": importTableHeader + "\n| events | messages | nothing |\n",
		"a word beside a folder":  importTableHeader + "\n| `events` | messages | `schema` for tests |\n",
		"an empty cell":           importTableHeader + "\n| `events` | messages | |\n",
		"two rows of a folder":    importTableHeader + "\n| `events` | a | nothing |\n| `events` | b | nothing |\n",
	} {
		if got, err := parseImportTable(document); err == nil {
			t.Errorf("%s: table = %v, want an error", name, got)
		}
	}
}

func TestAllowedImports(t *testing.T) {
	for _, test := range []struct {
		allowed allowedImports
		folder  string
		want    bool
	}{
		{nil, "events", false},
		{allowedImports{"events"}, "events", true},
		{allowedImports{"events"}, "events/audit", false},
		{allowedImports{"projector/..."}, "projector", true},
		{allowedImports{"projector/..."}, "projector/fold/foldtest", true},
		{allowedImports{"projector/..."}, "projectors", false},
		{allowedImports{"..."}, "cmd/setting", true},
	} {
		if got := test.allowed.contains(test.folder); got != test.want {
			t.Errorf("%q allows %s = %t, want %t", test.allowed, test.folder, got, test.want)
		}
	}
}

func TestImportFaults(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                  "module callboard\n",
		"ARCHITECTURE.md":         table,
		"events/events.go":        "package events\n\nimport (\n\t\"fmt\"\n\t\"example.com/callboard/schema\"\n)\n",
		"events/events_test.go":   "package events\n\nimport \"callboard/schema\"\n",
		"projector/loop.go":       "package projector\n\nimport (\n\t\"callboard/events\"\n\t\"callboard/projector/fold\"\n)\n",
		"projector/loop_linux.go": "//go:build linux\n\npackage projector\n\nimport \"callboard/schema\"\n",
		"projector/fold/fold.go":  "package fold\n",
		"cmd/b/main.go":           "package main\n\nimport \"callboard/projector\"\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]string{
		"events":         "",
		"cmd/b":          "",
		"projector":      "projector imports schema, which its row in ARCHITECTURE.md's table does not allow",
		"projector/fold": "no row for projector/fold in ARCHITECTURE.md's table",
	} {
		faults, err := importFaults(filepath.Join(root, folder))
		if got := strings.Join(faults, "; "); err != nil || got != want {
			t.Errorf("%s: faults = %q, %v, want %q", folder, got, err, want)
		}
	}
}

func TestImports(t *testing.T) { Imports(t) }

// Each folder with Go code needs a row and a test that calls Imports. Each folder in the table must exist, and each import that a row
// allows must be used.
func TestImportTable_MatchesTheTree(t *testing.T) {
	root := filepath.Join("..", "..")
	document, err := os.ReadFile(filepath.Join(root, importTableFile))
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseImportTable(string(document))
	if err != nil {
		t.Fatal(err)
	}
	folders := goFolders(t, root)
	for _, folder := range folders {
		if _, ok := table[folder]; !ok {
			t.Errorf("no row for %s in %s's table", folder, importTableFile)
		}
		if !hasImportsTest(t, filepath.Join(root, folder)) {
			t.Errorf("%s has no TestImports: add one that calls eventstest.Imports", folder)
		}
	}
	for folder, allowed := range table {
		if !slices.Contains(folders, folder) {
			t.Errorf("%s's table has a row for %s, which has no Go code", importTableFile, folder)
			continue
		}
		used, err := importedFolders(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range allowed {
			if pattern != "..." && !slices.ContainsFunc(used, allowedImports{pattern}.contains) {
				t.Errorf("%s's table allows %s to import %s, which it does not", importTableFile, folder, pattern)
			}
		}
	}
}

// goFolders returns the folders of this module that have Go files, as the table names them.
func goFolders(t *testing.T, root string) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root && (err == nil || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if files, err := filepath.Glob(filepath.Join(path, "*.go")); err != nil || len(files) == 0 {
			return err
		}
		folder, err := filepath.Rel(root, path)
		folders = append(folders, filepath.ToSlash(folder))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func hasImportsTest(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(name string) bool {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(content), "\nfunc TestImports(t *testing.T)")
	})
}
