package fold_test

import (
	"go/build"
	"slices"
	"testing"
)

// The fold is a pure function: it has no clock, context, database, logger, network or file.
func TestPurity(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"callboard/events", "callboard/events/webhook", "bytes", "cmp", "crypto/sha256", "errors", "math", "slices", "sort", "strconv", "strings",
		"github.com/google/uuid",
		"github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext",
	}
	for _, path := range pkg.Imports {
		if !slices.Contains(allowed, path) {
			t.Errorf("fold imports %s, want only packages without side effects", path)
		}
	}
}
