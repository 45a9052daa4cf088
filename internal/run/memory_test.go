package run_test

import (
	"math"
	"runtime/debug"
	"testing"

	"callboard/internal/run"
)

func TestLimitMemory_KeepsTheLimitOfTheOperator(t *testing.T) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	t.Setenv("GOGC", "")
	for before, want := range map[int64]int64{math.MaxInt64: 1 << 30, 2 << 30: 2 << 30} {
		debug.SetMemoryLimit(before)
		run.LimitMemory(1 << 30)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("limit = %d, want %d", got, want)
		}
		if got := debug.SetGCPercent(100); got != 400 {
			t.Errorf("GOGC = %d, want 400", got)
		}
	}
}

func TestRelaxGC_NeedsALimitAndNoOtherSetting(t *testing.T) {
	const before = 100
	percent, limit := debug.SetGCPercent(before), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for _, test := range []struct {
		name  string
		limit int64
		gogc  string
		want  int
	}{
		{"no limit", math.MaxInt64, "", before},
		{"a limit", 1 << 30, "", 400},
		{"a limit and GOGC", 1 << 30, "150", before},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("GOGC", test.gogc)
			debug.SetMemoryLimit(test.limit)
			run.RelaxGC()
			if got := debug.SetGCPercent(before); got != test.want {
				t.Errorf("GOGC = %d, want %d", got, test.want)
			}
		})
	}
}
