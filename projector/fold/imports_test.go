package fold_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Fold is pure: no clock, context, database, logger, network or file, and of ours the events alone.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"callboard/events", "crypto/sha256", "errors", "slices", "strings", "github.com/google/uuid",
		"github.com/go-json-experiment/json",
	}
	for _, path := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, path) {
			t.Errorf("imports %s, which a pure package has no use for", path)
		}
	}
}
