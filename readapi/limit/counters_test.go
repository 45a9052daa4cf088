package limit

import (
	"bytes"
	"errors"
	"testing"
)

// at is a moment of a reader that knows the time.
func at(now instant) moment { return moment{now, now} }

// tierOf is a budget of the tier.
func tierOf(limit int) []bucket { return []bucket{{policy: tierPolicy, limit: limit}} }

// Permits of one second return together, 60 seconds after the last of them.
func TestCounters_PermitsReturn(t *testing.T) {
	t.Parallel()
	var c counters
	for _, now := range []instant{5_100, 5_700, 6_000} {
		c.advance(at(now))
		if !c.take(tierOf(3), at(now)) {
			t.Fatalf("taken at %d = false, want true", now)
		}
	}
	for _, want := range []struct {
		now  instant
		left quota
	}{
		{6_000, quota{tierPolicy, 0, 59_700}},
		{65_699, quota{tierPolicy, 0, 1}},
		{65_700, quota{tierPolicy, 2, 300}},
		{66_000, quota{tierPolicy, 3, 0}},
		{1_000_000, quota{tierPolicy, 3, 0}},
	} {
		c.advance(at(want.now))
		if got := c.quota(tierOf(3)[0], want.now); got != want.left {
			t.Errorf("quota at %d = %+v, want %+v", want.now, got, want.left)
		}
	}
}

// A server whose clock has been set back by an hour has permits of the future. They return a minute later, not an hour.
// The older permit was taken a second before the newest one.
func TestCounters_ServersClockSetBack(t *testing.T) {
	t.Parallel()
	var c counters
	for _, now := range []instant{3_600_000, 3_601_000} {
		c.advance(at(now))
		c.take(tierOf(2), at(now))
	}
	for _, want := range []struct {
		limit int
		wait  instant
	}{{1, window}, {2, 59_500}} {
		c.advance(at(7_500))
		if got := c.quota(tierOf(want.limit)[0], 7_500); got != (quota{tierPolicy, 0, want.wait}) {
			t.Errorf("quota of %d after the clock was set back = %+v, want a wait of %d", want.limit, got, want.wait)
		}
	}
}

// The layout is what readers of different builds share.
func TestVersion_Layout(t *testing.T) {
	t.Parallel()
	v := record{Layout: layout, Mark: 0x0102030405060708, counters: counters{Second: 9}}
	v.List[0] = counter{Last: 10, Taken: [budgets]uint32{11, 12, 13}}
	v.List[listLength-1].Taken[Dimensions] = 14
	want := make([]byte, 913)
	copy(want, []byte{
		layout, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9,
		0, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 0, 0, 13,
	})
	want[912] = 14
	if got := v.encode(); !bytes.Equal(got, want) {
		t.Errorf("encoded = %x, want %x", got, want)
	}
	if got, err := decode(want); err != nil || got != v {
		t.Errorf("decoded = %+v, %v, want %+v", got, err, v)
	}
	for name, data := range map[string][]byte{
		"cut off": want[:912], "too long": append(want, 0), "empty": nil,
		"another layout": append([]byte{layout + 1}, want[1:]...),
	} {
		if _, err := decode(data); !errors.Is(err, errMalformed) {
			t.Errorf("%s: error = %v, want %v", name, err, errMalformed)
		}
	}
}
