package readapi

import (
	"os/exec"
	"strings"
	"testing"
)

// The reader and the projector meet in tables and nowhere else.
func TestImports(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	forbidden := map[string]string{
		"callboard/projector": "the reader knows the projector's tables, not its code",
		"callboard/events":    "the reader knows rows, not events",
		"callboard/cmd":       "settings never leave cmd",
		"callboard/schema":    "the reader's role can't apply a schema",
	}
	for _, dependency := range strings.Fields(string(output)) {
		if dependency == "callboard/events/audit" {
			continue // what readers themselves put on a stream
		}
		for prefix, why := range forbidden {
			if dependency == prefix || strings.HasPrefix(dependency, prefix+"/") {
				t.Errorf("%s is imported: %s", dependency, why)
			}
		}
	}
}

// access, docs, limit and query know nothing of callboard but themselves.
func TestImports_Leaves(t *testing.T) {
	for _, leaf := range []string{"callboard/readapi/access", "callboard/readapi/docs", "callboard/readapi/limit", "callboard/readapi/query"} {
		output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", leaf).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, dependency := range strings.Fields(string(output)) {
			if strings.HasPrefix(dependency, "callboard/") && dependency != leaf {
				t.Errorf("%s imports %s", leaf, dependency)
			}
		}
	}
}
