package fold_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

// A correction raises the times of its phone system's calls, and lowers none.
func TestState_Correct(t *testing.T) {
	system := uuid.New()
	for _, c := range []struct {
		system        uuid.UUID
		before, after events.Time
	}{{system, 10, 20}, {system, 20, 20}, {system, 30, 30}, {uuid.New(), 10, 10}} {
		var state fold.State
		key := fold.Key{System: c.system, ID: uuid.New()}
		state.CallLogs.Load(key, fold.CallLog{Key: key, UpdatedAt: c.before})
		state.Correct(fold.Corrections{system: 20})
		if row, _ := state.CallLogs.Get(key); row.UpdatedAt != c.after {
			t.Errorf("updated at = %v, want %v", row.UpdatedAt, c.after)
		}
		upserts, _ := state.CallLogs.Changes()
		if changed := c.before != c.after; (len(upserts) == 1) != changed {
			t.Errorf("changed rows = %d, want a change: %v", len(upserts), changed)
		}
	}
}
