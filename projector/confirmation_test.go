package projector

import (
	"testing"
	"time"

	"callboard/projector/ingest"
)

// What a leader that lost its majority can say stops a partition when it has been said for a while; anything else
// does at once.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	if stop := (&ingest.StopError{Reason: ingest.StreamRepartitioned}); stop.MayBeStale() {
		t.Errorf("%s may be stale, want that it stops at once", stop.Reason)
	}
	const regressed, replaced = ingest.StreamRegressed, ingest.StreamIdentityChanged
	type look struct {
		reason string
		after  time.Duration // since the look before
		want   bool
	}
	for name, looks := range map[string][]look{
		"one that stands":       {{regressed, 0, false}, {regressed, 15 * time.Second, false}, {regressed, 15 * time.Second, true}, {regressed, time.Second, true}},
		"too few looks":         {{regressed, 0, false}, {regressed, 29 * time.Second, false}, {regressed, time.Second, true}},
		"another contradiction": {{regressed, 0, false}, {regressed, 20 * time.Second, false}, {replaced, 10 * time.Second, false}, {replaced, 20 * time.Second, false}},
		"after it had ended":    {{regressed, 0, false}, {regressed, 2 * time.Second, false}, {regressed, time.Minute, false}, {regressed, 20 * time.Second, false}},
	} {
		var c Confirmation
		now := time.Now()
		for i, l := range looks {
			now = now.Add(l.after)
			if got := c.Confirms(l.reason, now); got != l.want {
				t.Errorf("%s: look %d confirms = %t, want %t", name, i+1, got, l.want)
			}
		}
	}
}
