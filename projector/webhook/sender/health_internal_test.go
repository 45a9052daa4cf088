package sender

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// start is when every test begins.
func start() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

// open returns the health of an endpoint of which five requests have failed.
func open(concurrency int) *health {
	h := &health{concurrency: concurrency}
	for delivery := range int64(5) {
		h.fail(delivery, false, start(), 0)
	}
	return h
}

// failProbe fails the next probe after its time, and returns how long after it the next one is.
func (h *health) failProbe(retryAfter time.Duration) time.Duration {
	at := *h.probeAt
	h.fail(0, true, at, retryAfter)
	return h.probeAt.Sub(at)
}

// While the breaker is open, probes follow after 1, 2, 4 … 60 s. Requests that began before it opened postpone none.
func TestHealth_Probes(t *testing.T) {
	h := open(8)
	if got := h.probeAt.Sub(start()); got != time.Second {
		t.Fatalf("first probe after %v, want 1 s", got)
	}
	h.fail(9, false, start().Add(900*time.Millisecond), 0)
	for _, seconds := range []int{2, 4, 8, 16, 32, 60, 60} {
		if got, want := h.failProbe(0), time.Duration(seconds)*time.Second; got != want {
			t.Errorf("next probe after %v, want %v", got, want)
		}
	}
}

func TestHealth_ProbesNotBeforeRetryAfter(t *testing.T) {
	h := open(8)
	for _, c := range []struct{ asked, want time.Duration }{
		{10 * time.Second, 10 * time.Second}, {9 * time.Hour, time.Hour}, {0, time.Minute},
	} {
		if got := h.failProbe(c.asked); got != c.want {
			t.Errorf("Retry-After %v: next probe after %v, want %v", c.asked, got, c.want)
		}
	}
}

// After the first success 1, 2, 4 … requests run at once, until the concurrency is reached.
func TestHealth_StartsSlowlyAfterItCloses(t *testing.T) {
	h := open(10)
	h.succeed(start())
	for round, want := range []int{1, 2, 4, 8} {
		if h.probeAt != nil || h.slots == nil || *h.slots != want {
			t.Fatalf("round %d: health = %+v, want it closed with %d slots", round, h, want)
		}
		for range *h.slots {
			h.succeed(start())
		}
	}
	if h.slots != nil || h.failures != 0 || h.failingSince != nil {
		t.Errorf("health = %+v, want no limit and no failure", h)
	}
	h = open(1)
	if h.succeed(start()); h.slots != nil {
		t.Errorf("slots of an endpoint for one request at once = %d, want none", *h.slots)
	}
}

// Whatever happens, the breaker is open exactly if the last five requests or more have failed, of three deliveries or
// more.
func TestHealth_Opens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &health{concurrency: rapid.IntRange(1, 64).Draw(t, "concurrency")}
		failures, failed := 0, map[int64]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			if rapid.IntRange(0, 5).Draw(t, "outcome") == 0 {
				h.succeed(start())
				failures, failed = 0, map[int64]bool{}
			} else {
				delivery := rapid.Int64Range(1, 4).Draw(t, "delivery")
				h.fail(delivery, h.probeAt != nil, start(), 0)
				failures++
				failed[delivery] = true
			}
			if want := failures >= 5 && len(failed) >= 3; (h.probeAt != nil) != want || h.failures != failures {
				t.Fatalf("after %d failures of %d deliveries: open = %t, want %t", failures, len(failed), h.probeAt != nil, want)
			}
		}
	})
}

// defaultSchedule returns the schedule of the default settings.
func defaultSchedule() Schedule {
	return Schedule{
		Retries: []time.Duration{
			5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
			time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour,
		},
		GiveUp: 72 * time.Hour,
	}
}

// A delivery that always fails is attempted at the intervals, give or take a tenth, and for the last time when it is
// given up.
func TestSchedule_FollowsTheIntervals(t *testing.T) {
	s := defaultSchedule()
	rapid.Check(t, func(t *rapid.T) {
		now, last := start(), start().Add(s.GiveUp)
		for attempts := 1; ; attempts++ {
			due, dead := s.next(attempts, now, last, 0, rapid.Float64Range(-1, 1).Draw(t, "jitter"))
			if dead {
				if !now.Equal(last) {
					t.Fatalf("last attempt = %v after the first was due, want %v", now.Sub(start()), s.GiveUp)
				}
				return
			}
			want := s.Retries[min(attempts, len(s.Retries))-1]
			if got := due.Sub(now); got > want*11/10 || got < want*9/10 && !due.Equal(last) {
				t.Fatalf("interval %d = %v, want %v", attempts, got, want)
			}
			now = due
		}
	})
}

func TestSchedule_RetryAfter(t *testing.T) {
	s := defaultSchedule()
	for retryAfter, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 3 * time.Second: 5 * time.Second, time.Minute: time.Minute, 9 * time.Hour: time.Hour,
	} {
		due, dead := s.next(1, start(), start().Add(s.GiveUp), retryAfter, 0)
		if got := due.Sub(start()); dead || got != want {
			t.Errorf("Retry-After %v: next attempt after %v, dead = %t, want %v", retryAfter, got, dead, want)
		}
	}
}

// A sender that was frozen, or has not renewed a lease, starts no request that another sender may send too.
func TestEndpoint_SendsWithinItsLease(t *testing.T) {
	e := &endpoint{leased: start().Add(leaseTime)}
	last := leaseTime - leaseMargin
	for after, want := range map[time.Duration]bool{0: true, last - 1: true, last: false, leaseTime: false} {
		if got := e.sends(start().Add(after)); got != want {
			t.Errorf("sends after %v = %t, want %t", after, got, want)
		}
	}
	if e.leaving = true; e.sends(start()) {
		t.Error("sends while the lease is to end, want it not to")
	}
}
