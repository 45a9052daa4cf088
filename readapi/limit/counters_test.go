package limit

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
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
func TestCounters_ServersClockSetBack(t *testing.T) {
	t.Parallel()
	var c counters
	for _, now := range []instant{3_600_000, 3_601_000} {
		c.advance(at(now))
		c.take(tierOf(2), at(now))
	}
	c.advance(at(7_500))
	if got, want := c.quota(tierOf(2)[0], 7_500), (quota{tierPolicy, 0, window}); got != want {
		t.Errorf("quota after the clock was set back = %+v, want %+v", got, want)
	}
}

// draw draws any counters whose seconds a version can have.
func draw(t *rapid.T) (c counters) {
	c.second = rapid.Int64Range(1_000, 1_100).Draw(t, "second")
	for range rapid.IntRange(0, 20).Draw(t, "counters") {
		one := &c.list[rapid.IntRange(0, listLength-1).Draw(t, "age")]
		one.Last = rapid.Uint16Range(0, 999).Draw(t, "last")
		one.Taken[rapid.IntRange(0, budgets-1).Draw(t, "budget")] = rapid.Uint32Range(0, math.MaxInt32).Draw(t, "permits")
	}
	return c
}

func TestVersion_Encoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := version{counters: draw(t), mark: rapid.Uint64().Draw(t, "mark")}
		encoded := v.encode()
		if decoded, err := decode(encoded); err != nil || decoded != v || len(encoded) != 913 {
			t.Errorf("decoded = %+v, %v, want %+v", decoded, err, v)
		}
		for name, data := range map[string][]byte{
			"cut off": encoded[:len(encoded)-1], "too long": append(encoded, 0), "empty": nil,
			"another layout": append([]byte{layout + 1}, encoded[1:]...),
		} {
			if _, err := decode(data); !errors.Is(err, errMalformed) {
				t.Errorf("%s: error = %v, want %v", name, err, errMalformed)
			}
		}
	})
}

// The layout is what readers of different builds share.
func TestVersion_Layout(t *testing.T) {
	t.Parallel()
	v := version{mark: 0x0102030405060708, counters: counters{second: 9}}
	v.list[0] = counter{Last: 10, Taken: [budgets]uint32{11, 12, 13}}
	v.list[listLength-1].Taken[Dimensions] = 14
	want := make([]byte, 913)
	copy(want, []byte{
		layout, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 9,
		0, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 0, 0, 13,
	})
	want[912] = 14
	if got := v.encode(); !bytes.Equal(got, want) {
		t.Errorf("encoded = %x, want %x", got, want)
	}
}
