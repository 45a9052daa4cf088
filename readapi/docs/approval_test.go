package docs_test

import (
	"slices"
	"testing"
	"time"

	"callboard/readapi/docs"
)

// The record approves each of the 24 operations once, with a reviewer, a date and a lifecycle stage.
func TestLoadApprovals(t *testing.T) {
	t.Parallel()
	approvals := loadApprovals(t)
	approved := make(map[string]bool)
	for _, a := range approvals {
		_, err := time.Parse(time.DateOnly, a.Date)
		known := slices.Contains([]docs.Stage{docs.Stable, docs.Beta, docs.Deprecated}, a.Stage)
		if approved[a.Operation] || a.Operation == "" || a.Reviewer == "" || !known || err != nil {
			t.Errorf("approval = %+v, error = %v, want an operation once, a reviewer, a date and a known stage", a, err)
		}
		approved[a.Operation] = true
	}
	if len(approved) != 24 {
		t.Errorf("approved operations = %d, want 24", len(approved))
	}
}
