package status_test

import (
	"testing"
	"time"

	"callboard/projector/status"
)

func TestReport_SetRate(t *testing.T) {
	twoAndAHalf := 2.5
	report := func(second int, messages, lag uint64) status.Report {
		return status.Report{
			Time: time.Date(2026, 3, 1, 9, 0, second, 0, time.UTC), Messages: messages,
			Partitions: []status.Partition{{LagEvents: lag}},
		}
	}
	for name, c := range map[string]struct {
		before, after status.Report
		rate          float64
		eta           *float64
	}{
		"lag falls":        {report(0, 100, 80), report(2, 110, 50), 20, &twoAndAHalf},
		"no lag":           {report(0, 100, 0), report(2, 100, 0), 0, nil},
		"lag rises":        {report(0, 100, 50), report(2, 110, 60), 0, nil},
		"caught up":        {report(0, 100, 50), report(2, 100, 0), 25, nil},
		"position lowered": {report(0, 100, 0), report(2, 100, 100), -50, nil},
	} {
		t.Run(name, func(t *testing.T) {
			after := c.after
			after.SetRate(c.before)
			seconds := after.ETASeconds
			if *after.Rate != c.rate || (seconds == nil) != (c.eta == nil) || seconds != nil && *seconds != *c.eta {
				t.Errorf("rate = %v, eta = %v, want %v and %v", *after.Rate, seconds, c.rate, c.eta)
			}
		})
	}
}
