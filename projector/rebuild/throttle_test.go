package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/events/eventstest"
	"callboard/projector"
	"callboard/schema/schematest"
)

// throttleHarness is a projection with one partition, whose position the test writes.
type throttleHarness struct {
	*testing.T
	pool *pgxpool.Pool
}

func newThrottleHarness(t *testing.T) *throttleHarness {
	t.Helper()
	t.Parallel()
	h := &throttleHarness{T: t, pool: schematest.New(t).Pool(t)}
	h.setLag(time.Minute)
	return h
}

// setLag sets the age of the partition's watermark.
func (h *throttleHarness) setLag(lag time.Duration) {
	h.Helper()
	_, err := h.pool.Exec(h.Context(), `
		insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		values (0, gen_random_uuid(), 1, 1, now(), clock_timestamp() - $1::interval)
		on conflict (partition) do update set watermark = excluded.watermark`, lag)
	if err != nil {
		h.Fatal(err)
	}
}

// own holds the partition's lock, as a projector does, until the test ends.
func (h *throttleHarness) own() {
	h.Helper()
	conn, err := h.pool.Acquire(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	if _, err := conn.Exec(h.Context(), fmt.Sprintf("select pg_advisory_lock(%d, 0)", projector.LockClass)); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.Hijack().Close(context.Background()) })
}

// throttle returns one with a limit, and the reasons that it reports.
func (h *throttleHarness) throttle(limit time.Duration) (t *throttle, reasons chan string) {
	reasons = make(chan string, 100)
	return newThrottle(Config{Database: h.pool, MaxLiveLag: limit, Throttled: func(reason string) { reasons <- reason }}), reasons
}

func TestThrottle_WaitsUntilLagIsBelowHalfOfLimit(t *testing.T) {
	h := newThrottleHarness(t)
	h.own()
	throttle, reasons := h.throttle(10 * time.Second)
	ended := make(chan error, 1)
	go func() { ended <- throttle.wait(t.Context()) }()
	lag := func() (seconds float64) {
		t.Helper()
		reason := <-reasons
		if _, err := fmt.Sscanf(reason, "waiting for the live projection: partition 0 lags by %fs", &seconds); err != nil {
			t.Fatalf("reason = %q, want the lag of partition 0: %v", reason, err)
		}
		return seconds
	}
	if got := lag(); got < 60 {
		t.Errorf("lag = %.1f s, want at least 60 s", got)
	}
	h.setLag(8 * time.Second) // between half of the limit and the limit
	for lag() >= 60 {         // was read before
	}
	h.setLag(-time.Minute) // it is below the limit for more than a minute
	if err := <-ended; err != nil {
		t.Error(err)
	}
	last := "none"
	for len(reasons) > 0 {
		last = <-reasons
	}
	if last != "" {
		t.Errorf("last reason = %q, want an empty one", last)
	}
}

func TestThrottle_DoesNotWait(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		owned bool
		lag   time.Duration
		limit time.Duration
	}{
		{"no projector owns the partition", false, time.Minute, time.Second},
		{"no limit", true, time.Minute, 0},
		{"lag below the limit", true, time.Minute, time.Hour},
		{"limit below the age of an idle watermark", true, 10 * time.Millisecond, time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newThrottleHarness(t)
			if test.owned {
				h.own()
			}
			eventstest.Eventually(t, "no wait: the lag has grown if this goroutine paused", func() bool {
				h.setLag(test.lag)
				throttle, reasons := h.throttle(test.limit)
				ctx, cancel := context.WithTimeout(t.Context(), lagInterval/2)
				defer cancel()
				return throttle.wait(ctx) == nil && len(reasons) == 0
			})
		})
	}
}

// A watermark that nobody moves, because its owner is frozen, stops counting.
func TestThrottle_IgnoresStalledWatermark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		throttle := newThrottle(Config{MaxLiveLag: time.Second})
		lag := ownedLag{Partition: 3, Watermark: time.Now(), Seconds: 60}
		for _, test := range []struct {
			after time.Duration
			moved bool
			want  bool
		}{{0, false, true}, {stalledAfter - 1, false, true}, {1, false, false}, {time.Second, true, true}} {
			time.Sleep(test.after)
			if test.moved {
				lag.Watermark = lag.Watermark.Add(1)
			}
			throttle.readAt = time.Now()
			if got := throttle.moves(lag); got != test.want {
				t.Errorf("after %s: moves = %t, want %t", test.after, got, test.want)
			}
		}
	})
}

func TestThrottle_WaitEndsWithContext(t *testing.T) {
	h := newThrottleHarness(t)
	h.own()
	throttle, reasons := h.throttle(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- throttle.wait(ctx) }()
	<-reasons
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

func TestThrottle_LagCannotBeRead(t *testing.T) {
	h := newThrottleHarness(t)
	throttle, _ := h.throttle(time.Second)
	h.pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), lagInterval/2)
	defer cancel()
	if err := throttle.wait(ctx); err == nil || !strings.Contains(err.Error(), "lag of the live projection: ") {
		t.Errorf("error = %v, want one about the lag of the live projection", err)
	}
}
