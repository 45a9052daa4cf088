package fault_test

import (
	"strings"
	"testing"

	"callboard/events"
	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/schema/schematest"
)

// The stream is lost, and the platform begins another one of that name. Nothing of it is applied, and readers go on with what there
// was, until a rebuild makes the new one's projection.
func TestStreamReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	seed := drawn(t)
	s := newStage(t, seed, stroll)
	s.applies(loadRest)
	s.feed.stop()
	s.caughtUp()
	before := schematest.ReadProjection(t, s.postgres.URL(live))
	s.replaceStream()
	s.feed = s.newFeed(seed, stroll)
	s.stopped(projector.StreamIdentityChanged)
	s.answering()
	if list := before.Diff(schematest.ReadProjection(t, s.postgres.URL(live))); len(list) > 0 {
		t.Errorf("something of the new stream (there) was applied:\n%s", strings.Join(list, "\n"))
	}
	if c := s.building(); c.finish() != 0 {
		t.Errorf("rebuild: %s", tail(c.log()))
	}
	s.applies(loadRest)
	s.verify()
	s.answering()
	s.feed.stop()
	s.judge(0, true)
	s.leavesNothing(false)
}

// replaceStream deletes the stream of events and creates it anew.
func (s *stage) replaceStream() {
	s.tb.Helper()
	if err := s.js.DeleteStream(s.tb.Context(), events.StreamName); err != nil {
		s.tb.Fatal(err)
	}
	eventstest.CreateStream(s.tb, s.js, partitions)
}

// stopped waits until status gives a reason for every partition.
func (s *stage) stopped(reason string) {
	s.tb.Helper()
	await(s.tb, "status: "+reason, func() bool {
		var report struct{ Partitions []struct{ StopReason string } }
		s.command(&report, "status")
		n := 0
		for _, p := range report.Partitions {
			if strings.HasPrefix(p.StopReason, reason) {
				n++
			}
		}
		return n == partitions
	})
}
