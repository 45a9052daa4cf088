package eventstest

import (
	"fmt"
	"go/parser"
	"go/token"
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

// Imports fails the test for each import of this module's packages that ARCHITECTURE.md's table of imports does not allow the
// package under test. It reads the non-test files of the working directory, whatever their build constraints.
func Imports(t *testing.T) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	faults, err := importFaults(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// importFaults checks the package in a directory and returns one sentence for each import that is not allowed.
func importFaults(dir string) ([]string, error) {
	root, err := moduleRoot(dir)
	if err != nil {
		return nil, err
	}
	// Reading the table with os.ReadFile makes the cached result of a test depend on it.
	document, err := os.ReadFile(filepath.Join(root, importTableFile)) //nolint:gosec // the module's own file
	if err != nil {
		return nil, err
	}
	table, err := parseImportTable(string(document))
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	folder := filepath.ToSlash(relative)
	allowed, ok := table[folder]
	if !ok {
		return []string{fmt.Sprintf("no row for %s in %s's table", folder, importTableFile)}, nil
	}
	imports, err := importedFolders(dir)
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

// moduleRoot returns the nearest directory at or above dir that holds a go.mod.
func moduleRoot(dir string) (string, error) {
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root, nil
		}
		if root == filepath.Dir(root) {
			return "", fmt.Errorf("no go.mod in %s or above", dir)
		}
	}
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
