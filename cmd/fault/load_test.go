package fault_test

import (
	"strings"
	"testing"
	"time"

	"callboard/projector/rebuild"
)

const (
	loadRate = 500    // events a second, as far as the machine can
	loadMost = 15_000 // events, until there are fewer
	loadRest = 600    // messages applied between one command and the next
)

// The projection is rebuilt, rolled back and rebuilt while events come without a pause and a crowd asks. Nobody notices.
func TestRebuild_UnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	s := newStage(t, drawn(t), tiring(march(loadRate), loadMost))
	c := s.gather()
	g, stop := s.measure()
	began := time.Now()
	s.applies(2 * loadRest)
	s.figures.total("before: %s", g.between(began, time.Now()))
	for _, args := range []string{"rebuild --keep", "rollback", "rebuild"} {
		s.underLoad(c, g, strings.Fields(args))
	}
	s.feed.stop()
	c.disperse()
	stop()
	s.verify()
	s.leavesNothing(true)
	s.report()
}

// underLoad runs a command while a crowd asks, and has it read on from where it was before.
func (s *stage) underLoad(c *crowd, g *gauge, args []string) {
	s.tb.Helper()
	marks := c.bookmarks(s.tb.Context())
	before, began := c.answers(), time.Now()
	var done rebuild.Result
	s.command(&done, args...)
	ended, asked := time.Now(), c.answers()-before
	if len(done.Comparison.Changes) > 0 {
		s.tb.Errorf("%v has changed something: %v", args, done.Comparison.Changes)
	}
	c.readOn(s.tb.Context(), marks)
	s.applies(loadRest)
	s.figures.total("%s: %s (fold %.1fs, index %.1fs, follow %.1fs, compare %.1fs), commits stood still for %.0f and %.0f ms; %d messages folded; %d answers; %s",
		strings.Join(args, " "), brief(ended.Sub(began)), done.Fold, done.Index, done.Follow, done.Compare, done.Snapshot*1000, done.Standstill*1000,
		done.Messages, asked, g.between(began, ended))
	s.figures.total("  then: %s", g.between(ended, time.Now()))
}

// applies waits until the projector has applied so many messages more.
func (s *stage) applies(more int64) {
	s.tb.Helper()
	const read = "select coalesce(sum(read), 0)::bigint from projection.message_count"
	until := s.number(read) + more
	await(s.tb, "messages applied", func() bool { return s.number(read) >= until })
}
