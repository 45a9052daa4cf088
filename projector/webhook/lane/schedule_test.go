package lane_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"callboard/projector/webhook/lane"
)

// start is when every test begins.
func start() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

// A delivery that always fails is attempted at the intervals, give or take a tenth, and for the last time when it is given up.
func TestSchedule_FollowsTheIntervals(t *testing.T) {
	s := lane.DefaultSchedule()
	rapid.Check(t, func(t *rapid.T) {
		now, expires := start(), s.Expires(start())
		for attempts := 1; ; attempts++ {
			due, dead := s.Next(lane.Failure{
				Attempts: attempts, At: now, Expires: expires, Jitter: rapid.Float64Range(-1, 1).Draw(t, "jitter"),
			})
			if dead {
				if !now.Equal(expires) {
					t.Fatalf("last attempt = %v after the first was due, want %v", now.Sub(start()), s.GiveUp)
				}
				return
			}
			want := s.Retries[min(attempts, len(s.Retries))-1]
			got := due.Sub(now)
			if got > want*11/10 || got < want*9/10 && !due.Equal(expires) {
				t.Fatalf("interval %d = %v, want %v", attempts, got, want)
			}
			now = due
		}
	})
}

func TestSchedule_RetryAfter(t *testing.T) {
	s := lane.DefaultSchedule()
	for _, c := range []struct {
		name       string
		retryAfter time.Duration
		want       time.Duration
	}{
		{"none", 0, 5 * time.Second},
		{"shorter than the interval", 2 * time.Second, 5 * time.Second},
		{"longer than the interval", time.Minute, time.Minute},
		{"too long", 9 * time.Hour, time.Hour},
	} {
		due, dead := s.Next(lane.Failure{Attempts: 1, At: start(), Expires: s.Expires(start()), RetryAfter: c.retryAfter})
		if got := due.Sub(start()); dead || got != c.want {
			t.Errorf("%s: interval = %v, dead = %t, want %v", c.name, got, dead, c.want)
		}
	}
}
