package sender

import (
	"testing"
	"time"
)

// A server is ignored once its questions have failed for a minute, and while they fail. Nobody asks while no notice is
// held.
func TestOutage_Ignored(t *testing.T) {
	const minute = time.Minute
	every := func(first, last, step int) (list []int) {
		for at := first; at <= last; at += step {
			list = append(list, at)
		}
		return list
	}
	for _, c := range []struct {
		what     string
		failures []int // in seconds
		now      int
		want     bool
	}{
		{"no failure", nil, 100, false},
		{"one failure", []int{100}, 100, false},
		{"failures for less than a minute", every(0, 58, 2), 59, false},
		{"failures for a minute", every(0, 60, 2), 61, true},
		{"two failures that are a minute apart", []int{0, 60}, 60, false},
		{"failures that begin again after a quiet time", append(every(0, 30, 2), every(100, 150, 2)...), 150, false},
		{"failures for a minute, long ago", every(0, 60, 2), 100, false},
		{"failures for a minute, and another one after a quiet time", append(every(0, 60, 2), 1000), 1000, true},
	} {
		var o outage
		start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for _, at := range c.failures {
			o.add(start.Add(time.Duration(at)*time.Second), minute)
		}
		if got := o.ignored(start.Add(time.Duration(c.now)*time.Second), minute); got != c.want {
			t.Errorf("%s: ignored = %t, want %t", c.what, got, c.want)
		}
	}
}
