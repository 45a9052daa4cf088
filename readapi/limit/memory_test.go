package limit

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestGates(t *testing.T) {
	now := time.Now()
	const window = time.Minute
	for name, c := range map[string]struct{ opens, closed time.Duration }{
		"until it opens":         {10 * time.Second, 10 * time.Second},
		"for a moment at least":  {-time.Second, minClosed},
		"for a window at most":   {time.Hour, window},
		"for a window and no ns": {window, window},
	} {
		g := newGates()
		b, other := bucket{subject: "a"}, bucket{subject: "b"}
		g.close([]standing{{bucket: b, opens: now.Add(c.opens)}}, now, window)
		opens := now.Add(c.closed)
		g.sweep(opens.Add(-1))
		if full := g.closed([]bucket{other, b}, opens.Add(-1)); len(full) != 1 || full[0].bucket != b || !full[0].opens.Equal(opens) {
			t.Errorf("%s: before: %+v", name, full)
		}
		if full := g.closed([]bucket{other, b}, opens); len(full) != 0 {
			t.Errorf("%s: then: %+v", name, full)
		}
		if g.sweep(opens); len(g.opens) != 0 {
			t.Errorf("%s: kept", name)
		}
	}
}

func TestLocal(t *testing.T) {
	now := time.Now()
	l := newLocal(time.Minute)
	key, b := uuid.New(), bucket{policy: tierPolicy, quota: 3}
	for i := range 5 {
		s, ok := l.take(key, b, now.Add(time.Duration(i)*time.Second))
		if ok != (i < 3) || s.remaining != max(0, 2-i) || !s.opens.Equal(now.Add(time.Minute)) {
			t.Errorf("%d: %+v, %v", i, s, ok)
		}
	}
	if _, ok := l.take(uuid.New(), b, now); !ok {
		t.Error("another key's")
	}
	l.sweep(now.Add(time.Minute - 1))
	if _, ok := l.take(key, b, now.Add(time.Minute-1)); ok {
		t.Error("before the window's end")
	}
	if _, ok := l.take(key, b, now.Add(time.Minute)); !ok {
		t.Error("not after the window's end")
	}
	if l.sweep(now.Add(2 * time.Minute)); len(l.spent) != 0 {
		t.Error("kept")
	}
}
