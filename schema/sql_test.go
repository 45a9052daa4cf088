package schema_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sqlFolders returns the folders whose code has SQL, with all folders below them.
func sqlFolders() []string {
	return []string{
		"schema", "projector/store", "projector/rebuild", "projector/audit", "projector/deadletter", "projector/status",
		"projector", "projector/webhook", "readapi/access", "readapi/query",
	}
}

// sqlStatement matches the beginning of a statement. Words with which other texts begin too, such as "create", need a
// second one.
var sqlStatement = regexp.MustCompile(`(?is)^\s*(` + strings.Join([]string{
	`select\s`, `insert\s+into\s`, `update\s+\S+.*\sset\s`, `delete\s+from\s`, `with\s.*\sas\s+((not\s+)?materialized\s+)?\(`,
	`(create|drop|alter)\s+((or\s+replace|unique|temporary|materialized)\s+)*` +
		`(table|schema|index|view|role|database|function|type|sequence|extension)\s*(\s[^:]|$)`,
	`truncate\s`, `lock\s+table\s`, `copy\s.*\s(from|to)\s`, `grant\s.*\sto\s`, `revoke\s.*\sfrom\s`, `set\s+(local|session)\s`,
}, "|") + `)`)

func TestSQL_IsOnlyInItsFolders(t *testing.T) {
	faults, err := misplacedSQL("..", sqlFolders())
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// misplacedSQL returns a sentence for each SQL file, and each string literal of Go code that is SQL, outside the
// allowed folders. It ignores tests, packages for tests, hidden folders and other modules.
func misplacedSQL(root string, allowed []string) ([]string, error) {
	var faults []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir():
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			otherModule := err == nil && name != "."
			if slices.Contains(allowed, name) || otherModule || strings.HasSuffix(name, "test") || len(name) > 1 && strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir
			}
		case strings.HasSuffix(name, ".sql"):
			faults = append(faults, name+" has SQL")
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			literals, err := sqlLiterals(path)
			if err != nil {
				return err
			}
			for _, literal := range literals {
				faults = append(faults, fmt.Sprintf("%s has SQL: %q", name, literal))
			}
		}
		return nil
	})
	return faults, err
}

// sqlLiterals returns the string literals of a Go file that are SQL statements.
func sqlLiterals(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && sqlStatement.MatchString(text) {
				found = append(found, text)
			}
		}
		return true
	})
	return found, nil
}
