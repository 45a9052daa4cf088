package fold_test

import (
	"testing"

	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
)

const minute = fold.MaxAhead

func TestCapped(t *testing.T) {
	for _, test := range []struct{ stored, now, want events.Time }{
		{0, 1000, 0},
		{1000, 1000, 1000},
		{1000 + minute, 1000, 1000 + minute},
		{1001 + minute, 1000, 1000},
	} {
		if got := fold.PlausibleTime(test.stored, test.now); got != test.want {
			t.Errorf("time at %d of %d = %d, want %d", test.now, test.stored, got, test.want)
		}
	}
}

// Each row is a message of one commit, which is received at 1000.
func TestCapping_CapsWhatIsStoredAheadOfTheProjectorsClock(t *testing.T) {
	const now, day = 1000, 24 * 60 * minute
	for _, test := range []struct {
		name   string
		clock  events.Time // before the commit
		stored []events.Time
		want   []events.Time
		cap    fold.ClockAdjustment
	}{
		{"within a minute", 900, []events.Time{990, now + minute}, []events.Time{990, now + minute}, fold.ClockAdjustment{}},
		{
			"one message of three", 900, []events.Time{990, now + day, 995}, []events.Time{990, now, 995},
			fold.ClockAdjustment{Capped: true, First: 2, Last: 2, LastStoredAt: now + day, Time: now, Messages: 1},
		},
		{
			"the partition's clock is ahead of the projector's", 900, []events.Time{now + 500, now + day}, []events.Time{now + 500, now + 500},
			fold.ClockAdjustment{Capped: true, First: 2, Last: 2, LastStoredAt: now + day, Time: now + 500, Messages: 1},
		},
		{
			"later ones of the commit, within a minute, too", 900,
			[]events.Time{now + day, now + 500, 999, now + day + 1}, []events.Time{now, now, 999, now},
			fold.ClockAdjustment{Capped: true, First: 1, Last: 4, LastStoredAt: now + day + 1, Time: now, Messages: 3},
		},
		{"the partition's clock is ahead of all", now + 2*day, []events.Time{now + day}, []events.Time{now + day}, fold.ClockAdjustment{}},
		{
			"the partition's clock is ahead, and they are ahead of it", now + day, []events.Time{now + 2*day}, []events.Time{now + day},
			fold.ClockAdjustment{Capped: true, First: 1, Last: 1, LastStoredAt: now + 2*day, Time: now + day, Messages: 1},
		},
	} {
		clock, capping := fold.Clock{Now: test.clock}, fold.Capping{Now: now}
		for i, stored := range test.stored {
			got := capping.StoredAt(clock, uint64(i+1), stored)
			if got != test.want[i] {
				t.Errorf("%s: message %d counts as stored at %d, want %d", test.name, i+1, got, test.want[i])
			}
			clock.Advance(uint64(i+1), got, fold.ClockAdjustments{})
		}
		if capping.Cap != test.cap {
			t.Errorf("%s: cap = %+v, want %+v", test.name, capping.Cap, test.cap)
		}
	}
}

// A replay of any commits, with the caps and adjustments on record, gives every message the same clock. A clock
// that decides again, by a projector's clock that is a minute further than ever before, is never behind it.
func TestClock_ReplaysItsCaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clock fold.Clock
		var clocks, stored []events.Time
		var adjustments []fold.ClockAdjustment
		now := events.Time(1_000_000)
		latest := now
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			now += events.Time(rapid.IntRange(-2000, 90_000).Draw(t, "elapsed"))
			latest = max(latest, now)
			capping := fold.Capping{Now: now}
			for range rapid.IntRange(1, 5).Draw(t, "messages") {
				at := now + events.Time(rapid.SampledFrom([]int{-2000, -1, 0, 1, 59_999, 60_000, 60_001, 61_000, 200_000, 300_000}).Draw(t, "ahead"))
				stored = append(stored, at)
				sequence := uint64(len(stored))
				counted := capping.StoredAt(clock, sequence, at)
				if adjustment := clock.Advance(sequence, counted, fold.ClockAdjustments{}); adjustment != nil {
					adjustments = append(adjustments, *adjustment)
				}
				clocks = append(clocks, clock.Now)
			}
			if capping.Cap.Capped {
				adjustments = append(adjustments, capping.Cap)
			}
			clock.RaiseWatermark(clock.Now)
			clock.RaiseWatermark(fold.PlausibleTime(now+events.Time(rapid.IntRange(-100, 200_000).Draw(t, "idle")), now))
		}
		recorded := fold.NewClockAdjustments(adjustments)
		var replay, again fold.Clock
		capping := fold.Capping{Now: latest + minute}
		for i, at := range stored {
			sequence := uint64(i + 1)
			if adjustment := replay.Advance(sequence, recorded.StoredAt(sequence, at), recorded); adjustment != nil || replay.Now != clocks[i] {
				t.Fatalf("replay: clock at message %d = %d, adjustment = %v, want %d and none", sequence, replay.Now, adjustment, clocks[i])
			}
			again.Advance(sequence, capping.StoredAt(again, sequence, at), recorded)
			if again.Now < replay.Now {
				t.Fatalf("decided again: clock at message %d = %d, want %d or later", sequence, again.Now, replay.Now)
			}
		}
	})
}

func TestClockAdjustments_Overlap(t *testing.T) {
	caps := fold.NewClockAdjustments([]fold.ClockAdjustment{
		{Capped: true, First: 5, Last: 6, Time: 300}, {Capped: true, First: 2, Last: 9, Time: 500},
		{First: 9, Last: 9, Time: 40}, {Capped: true, First: 12, Last: 12, Time: 100},
	})
	for sequence, want := range []events.Time{0: 900, 1: 900, 2: 500, 5: 300, 6: 300, 7: 500, 9: 500, 10: 900, 12: 100, 13: 900} {
		if want == 0 {
			continue
		}
		if got := caps.StoredAt(uint64(sequence), 900); got != want {
			t.Errorf("message %d counts as stored at %d, want %d", sequence, got, want)
		}
		if got := caps.StoredAt(uint64(sequence), 50); got != 50 {
			t.Errorf("message %d counts as stored at %d, want 50", sequence, got)
		}
	}
	if got := (fold.ClockAdjustments{}).StoredAt(1, 900); got != 900 {
		t.Errorf("without caps, a message counts as stored at %d, want 900", got)
	}
}
