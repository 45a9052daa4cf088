package readapi

import (
	"regexp"
	"strings"
	"testing"

	"callboard/readapi/query"
)

func register() []operation { return operations(query.New(nil), query.New(nil), nil, nil) }

func TestOperations(t *testing.T) {
	operations := register()
	if len(operations) != 24 {
		t.Errorf("%d operations, the contract has 24", len(operations))
	}
	ids, paths := make(map[string]bool), make(map[string]bool)
	for _, o := range operations {
		if ids[o.ID] || paths[o.Path] {
			t.Errorf("%s %s is there twice", o.ID, o.Path)
		}
		ids[o.ID], paths[o.Path] = true, true
		if (o.Scope == "") != (o.ID == "listAccessiblePhoneSystems") {
			t.Errorf("%s has scope %q", o.ID, o.Scope)
		}
		if o.Report != strings.Contains(o.Path, "call-log-reports") {
			t.Errorf("%s is a report: %v", o.ID, o.Report)
		}
	}
}

var pathVariable = regexp.MustCompile(`\{\w+\}`)

// examplePath is an operation's path with well-formed identifiers.
func (o operation) examplePath(system string) string {
	path := strings.Replace(o.Path, "{phoneSystemId}", system, 1)
	return pathVariable.ReplaceAllStringFunc(path, func(variable string) string {
		if variable == "{recordingSid}" {
			return "REabc_-1"
		}
		return "7d9f4c1e-0000-4000-8000-000000000001"
	})
}
