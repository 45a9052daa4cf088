package projector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"callboard/projector"
)

func TestBackOff_RisesToTheMaximumAndStartsOverAfterALongRun(t *testing.T) {
	t.Parallel()
	backOff := projector.NewBackOff()
	first := backOff.Next(0)
	if first > 150*time.Millisecond {
		t.Errorf("first interval = %v, want at most 150 ms", first)
	}
	var last time.Duration
	for range 50 {
		last = backOff.Next(time.Second)
	}
	if last < projector.MaxInterval/2 || last > projector.MaxInterval*3/2 {
		t.Errorf("interval after 50 attempts = %v, want about %v", last, projector.MaxInterval)
	}
	if again := backOff.Next(projector.MaxInterval + 1); again > 150*time.Millisecond {
		t.Errorf("interval after a long run = %v, want at most 150 ms", again)
	}
	for range 50 {
		backOff.Next(0)
	}
	backOff.Reset()
	if again := backOff.Next(0); again > 150*time.Millisecond {
		t.Errorf("interval after a success = %v, want at most 150 ms", again)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		projector.Pause(t.Context(), time.Minute)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("paused for %v, want 1 min", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		projector.Pause(ctx, time.Minute)
		if took := time.Since(began); took != time.Minute+time.Second {
			t.Errorf("paused for %v until ctx ended, want 1 s", took-time.Minute)
		}
	})
}
