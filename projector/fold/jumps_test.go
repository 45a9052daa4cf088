package fold_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
)

// Whatever the times of a stream are, a message counts as stored at most a minute after any later message, and not before the earliest of these
// unless the stream says so.
func TestJumps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(-3000, 0), rapid.SampledFrom([]int64{86_400_000, -86_400_000, 61_000, -61_000, 90_000, -30_000}))
		stored := []events.Time{1_700_000_000_000}
		for _, by := range rapid.SliceOf(step).Draw(t, "steps") {
			stored = append(stored, stored[len(stored)-1]+events.Time(by))
		}
		var jumps fold.Jumps
		for i, at := range stored {
			jumps.Add(uint64(i+1), at)
		}
		caps := fold.NewClockCaps(jumps.Caps())
		earliest := events.Time(math.MaxInt64)
		for i := len(stored) - 1; i >= 0; i-- {
			sequence, at := uint64(i+1), stored[i]
			if got := jumps.After(sequence); got > earliest || earliest != math.MaxInt64 && got < earliest-1000 {
				t.Fatalf("earliest after %d = %d, want %d", sequence, got, earliest)
			}
			counts := caps.StoredAt(sequence, at)
			if counts > at || earliest < math.MaxInt64-fold.MaxAhead && counts > earliest+fold.MaxAhead || counts < min(at, earliest) {
				t.Fatalf("message %d, stored at %d, counts as stored at %d; the earliest after it was stored at %d", sequence, at, counts, earliest)
			}
			earliest = min(earliest, at)
		}
	})
}

func TestJumps_OneMessage(t *testing.T) {
	t.Parallel()
	const day = 86_400_000
	var jumps fold.Jumps
	for sequence, at := range []events.Time{1000, 2000, 3000 + day, 4000 + day, 5000, 6000} {
		jumps.Add(uint64(sequence+1), at)
	}
	want := fold.ClockCap{First: 3, Last: 4, LastStoredAt: 4000 + day, Time: 5000, Messages: 2}
	if got := jumps.Caps(); len(got) != 1 || got[0] != want {
		t.Errorf("caps = %+v, want one: %+v", got, want)
	}
}
