package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

func TestClock_NeverStepsBackAndReplaysItsAdjustments(t *testing.T) {
	steps := []struct {
		name         string
		sequence     uint64
		stored       events.Time
		watermark    events.Time // published after the step
		want         events.Time
		wantAdjusted bool
	}{
		{"a first message", 1, 100, 0, 100, false},
		{"the server's clock stepped back", 2, 90, 0, 100, false},
		{"a message, then an idle watermark at 200", 3, 150, 200, 150, false},
		{"a message stored behind the watermark", 4, 180, 0, 200, true},
		{"a second message behind the watermark", 5, 190, 0, 200, false},
		{"the server's clock is ahead again", 6, 250, 0, 250, false},
	}
	var clock fold.Clock
	var adjustments []fold.ClockAdjustment
	for _, step := range steps {
		adjustment := clock.Advance(step.sequence, step.stored, fold.ClockAdjustments{})
		if clock.Now != step.want || (adjustment != nil) != step.wantAdjusted {
			t.Fatalf("%s: clock = %d, adjustment = %v, want %d, adjusted: %t", step.name, clock.Now, adjustment, step.want, step.wantAdjusted)
		}
		if adjustment != nil {
			adjustments = append(adjustments, *adjustment)
		}
		clock.RaiseWatermark(step.watermark)
	}
	var replay fold.Clock
	recorded := fold.NewClockAdjustments(adjustments)
	for _, step := range steps {
		if adjustment := replay.Advance(step.sequence, step.stored, recorded); adjustment != nil || replay.Now != step.want {
			t.Fatalf("replay, %s: clock = %d, adjustment = %v, want %d and none", step.name, replay.Now, adjustment, step.want)
		}
	}
}

// The adjustment with sequence 0 holds for all messages, whichever is the first of the partition.
func TestClock_BeginsAtTheLeastClock(t *testing.T) {
	var clock fold.Clock
	recorded := fold.NewClockAdjustments([]fold.ClockAdjustment{{Time: 100}, {First: 9, Last: 9, Time: 150}})
	for _, step := range []struct {
		sequence     uint64
		stored, want events.Time
	}{{5, 40, 100}, {7, 120, 120}, {9, 130, 150}, {11, 140, 150}} {
		if adjustment := clock.Advance(step.sequence, step.stored, recorded); adjustment != nil || clock.Now != step.want {
			t.Errorf("message %d: clock = %d, adjustment = %v, want %d and none", step.sequence, clock.Now, adjustment, step.want)
		}
	}
}
