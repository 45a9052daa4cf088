package events_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Upstream teams import this package, so it must not bring the rest of callboard along.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if strings.HasPrefix(path, "callboard/") && path != "callboard/events" {
			t.Errorf("imports %s: events knows nothing else of callboard", path)
		}
	}
}
