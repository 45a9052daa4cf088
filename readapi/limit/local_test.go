package limit

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestBlocked(t *testing.T) {
	t.Parallel()
	now := time.Now()
	const window = time.Minute
	for name, c := range map[string]struct{ next, blockedFor time.Duration }{
		"until the next permit":       {10 * time.Second, 10 * time.Second},
		"for the minimum":             {-time.Second, minBlocked},
		"for a window at most":        {time.Hour, window},
		"for exactly one full window": {window, window},
	} {
		b := newBlocked()
		full, other := bucket{subject: "a"}, bucket{subject: "b"}
		b.add([]quota{{bucket: full, next: now.Add(c.next)}}, now, window)
		until := now.Add(c.blockedFor)
		b.prune(until.Add(-1))
		if got := b.find([]bucket{other, full}, until.Add(-1)); len(got) != 1 || got[0].bucket != full || !got[0].next.Equal(until) {
			t.Errorf("%s: blocked before the end = %+v, want one bucket until %s", name, got, until)
		}
		if got := b.find([]bucket{other, full}, until); len(got) != 0 {
			t.Errorf("%s: blocked at the end = %+v, want none", name, got)
		}
		if b.prune(until); len(b.until) != 0 {
			t.Errorf("%s: entries after pruning = %d, want 0", name, len(b.until))
		}
	}
}

func TestLocalCounter(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := newLocalCounter(time.Minute)
	key, b := uuid.New(), bucket{policy: tierPolicy, limit: 3}
	for i := range 5 {
		q, ok := c.take(key, b, now.Add(time.Duration(i)*time.Second))
		if ok != (i < 3) || q.remaining != max(0, 2-i) || !q.next.Equal(now.Add(time.Minute)) {
			t.Errorf("request %d: quota = %+v, allowed = %t", i, q, ok)
		}
	}
	if _, ok := c.take(uuid.New(), b, now); !ok {
		t.Error("another key was refused")
	}
	c.prune(now.Add(time.Minute - 1))
	if _, ok := c.take(key, b, now.Add(time.Minute-1)); ok {
		t.Error("allowed before the window's end")
	}
	if _, ok := c.take(key, b, now.Add(time.Minute)); !ok {
		t.Error("refused at the window's end")
	}
	if c.prune(now.Add(2 * time.Minute)); len(c.windows) != 0 {
		t.Errorf("windows after pruning = %d, want 0", len(c.windows))
	}
}
