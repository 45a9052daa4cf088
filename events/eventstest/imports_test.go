package eventstest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	importTableFile   = "ARCHITECTURE.md"
	importTableHeader = "| folder | knows | may import of ours |"
	modulePrefix      = "callboard/"
)

// Each folder with Go code needs a row and may import what the row allows. Each folder in the table must exist, and each import that a
// row allows must be used.
func TestImports(t *testing.T) {
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
		faults, err := importFaults(root, folder, table)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			t.Error(fault)
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
	rows, err := parseImportTable(table)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"events":         "",
		"cmd/b":          "",
		"projector":      "projector imports schema, which its row in ARCHITECTURE.md's table does not allow",
		"projector/fold": "no row for projector/fold in ARCHITECTURE.md's table",
	} {
		faults, err := importFaults(root, folder, rows)
		if got := strings.Join(faults, "; "); err != nil || got != want {
			t.Errorf("%s: faults = %q, %v, want %q", folder, got, err, want)
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

// importFaults returns one sentence for each import of this module's packages that the table does not allow a folder. It reads the folder's
// non-test files, whatever their build constraints.
func importFaults(root, folder string, table map[string]allowedImports) ([]string, error) {
	allowed, ok := table[folder]
	if !ok {
		return []string{fmt.Sprintf("no row for %s in %s's table", folder, importTableFile)}, nil
	}
	imports, err := importedFolders(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, imported := range imports {
		if !allowed.contains(imported) {
			faults = append(faults, fmt.Sprintf("%s imports %s, which its row in %s's table does not allow", folder, imported, importTableFile))
		}
	}
	return faults, nil
}

// importedFolders returns the folders of this module that the non-test files of a directory import, sorted.
func importedFolders(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			if folder, ours := strings.CutPrefix(imported, modulePrefix); ours {
				folders = append(folders, folder)
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

// allowedImports are the folders that a row allows: names, and patterns such as "projector/...". "..." allows every folder.
type allowedImports []string

func (a allowedImports) contains(folder string) bool {
	return slices.ContainsFunc(a, func(pattern string) bool {
		parent, below := strings.CutSuffix(pattern, "...")
		if !below {
			return folder == pattern
		}
		return strings.HasPrefix(folder+"/", parent)
	})
}

// parseImportTable reads the table of imports of a document: what each folder may import.
func parseImportTable(document string) (map[string]allowedImports, error) {
	_, rows, found := strings.Cut(document, importTableHeader+"\n")
	if !found {
		return nil, fmt.Errorf("%s: no table with the header %q", importTableFile, importTableHeader)
	}
	table := make(map[string]allowedImports)
	for row := range strings.Lines(rows) {
		row = strings.TrimSpace(row)
		if !strings.HasPrefix(row, "|") {
			break
		}
		if strings.HasPrefix(row, "|---") {
			continue
		}
		if err := addImportRow(table, row); err != nil {
			return nil, fmt.Errorf("%s: row %q: %w", importTableFile, row, err)
		}
	}
	return table, nil
}

func addImportRow(table map[string]allowedImports, row string) error {
	cells := strings.Split(strings.Trim(row, "|"), "|")
	if len(cells) != 3 {
		return fmt.Errorf("%d cells, want 3", len(cells))
	}
	folders, err := parseFolders(cells[0])
	if err != nil {
		return err
	}
	allowed, err := parseAllowed(cells[2])
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if _, twice := table[folder]; twice {
			return fmt.Errorf("%s has two rows", folder)
		}
		table[folder] = allowed
	}
	return nil
}

func parseAllowed(cell string) (allowedImports, error) {
	switch strings.TrimSpace(cell) {
	case "nothing":
		return nil, nil
	case "everything":
		return allowedImports{"..."}, nil
	}
	return parseFolders(cell)
}

// parseFolders reads a list of folders in backticks, separated by commas.
func parseFolders(cell string) ([]string, error) {
	quoted := regexp.MustCompile("^`([a-z0-9/.]+)`$")
	var folders []string
	for item := range strings.SplitSeq(cell, ",") {
		match := quoted.FindStringSubmatch(strings.TrimSpace(item))
		if match == nil || path.Clean(match[1]) != match[1] {
			return nil, fmt.Errorf("%q is not a folder in backticks", strings.TrimSpace(item))
		}
		folders = append(folders, match[1])
	}
	return folders, nil
}
