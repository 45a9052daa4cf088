package store_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// Every message is counted as read, and once by its outcome.
func TestMessageCounts(t *testing.T) {
	for outcome, want := range map[fold.Outcome]store.MessageCount{
		fold.Applied: {Applied: 1}, fold.Stale: {Stale: 1}, fold.Conflicting: {Stale: 1, Conflicting: 1}, fold.Ignored: {Ignored: 1},
		0: {Dead: 1},
	} {
		counts := make(store.MessageCounts)
		counts.AddMessage(events.EntityCall, outcome)
		want.Read = 1
		if got := counts[events.EntityCall]; got != want {
			t.Errorf("outcome %v: counts = %+v, want %+v", outcome, got, want)
		}
		if total := counts.TotalRead(); total != 1 {
			t.Errorf("outcome %v: messages = %d, want 1", outcome, total)
		}
	}
}
