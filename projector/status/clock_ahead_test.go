package status_test

import (
	"strings"
	"testing"
)

// What was capped is a problem for a day.
func TestRead_ClockCaps(t *testing.T) {
	h := newHarness(t)
	h.insertPosition(0, 0)
	if list := h.read().Problems(); len(list) != 0 {
		t.Errorf("problems = %q, want none", list)
	}
	h.Exec(`insert into control.clock_adjustment (stream, partition, capped, first_sequence, last_sequence, last_stored_at, clock, messages, recorded_at)
		values ($1, 0, true, 3, 5, now() + interval '1 day', now(), 2, now()),
		       ($1, 1, true, 4, 99, now() + interval '1 hour', now(), 39, now() - interval '23 hours'),
		       ($1, 2, true, 1, 9, now() + interval '1 year', now(), 7, now() - interval '25 hours')`, h.StreamID())
	report := h.read()
	if got := report.ClockAhead; got.Messages != 41 || got.CappedSeconds != 86400 {
		t.Errorf("clock ahead = %+v, want 41 messages, 86400 seconds", got)
	}
	const was = "in the last 24 hours the stream's clock was up to 24h0m0s ahead of a projector's: 41 messages stamped at its time"
	if list := report.Problems(); len(list) != 1 || list[0] != was {
		t.Errorf("problems = %q, want %q", list, was)
	}
	report.ClockAhead.Seconds = 86400
	const is = "the stream's clock is 24h0m0s ahead of this host's: 41 messages stamped at a projector's time"
	if list := report.Problems(); len(list) != 1 || list[0] != is {
		t.Errorf("problems = %q, want %q", list, is)
	}
	report.ClockAhead.Messages = 0
	if list := report.Problems(); len(list) != 1 || list[0] != "the stream's clock is 24h0m0s ahead of this host's" {
		t.Errorf("problems = %q, want the stream's clock", list)
	}
	report.ClockAhead.Seconds = 9
	if list := report.Problems(); len(list) != 0 {
		t.Errorf("problems of a clock that is 9 s ahead = %q, want none", list)
	}
}

func TestRead_WatermarkAhead(t *testing.T) {
	h := newHarness(t)
	for partition := range 2 {
		h.insertPosition(partition, 0)
	}
	h.Exec("update projection.position set watermark = now() + case partition when 0 then interval '24 hours' else interval '2 seconds' end")
	list := h.read().Problems()
	if len(list) != 1 || !strings.HasPrefix(list[0], "partition 0: the watermark is ") || !strings.Contains(list[0], " ahead of this host's clock") {
		t.Errorf("problems = %q, want one about the watermark of partition 0", list)
	}
}
