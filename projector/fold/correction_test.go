package fold_test

import (
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func TestState_ApplyCorrections(t *testing.T) {
	system, other, a, b := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		corrections fold.Corrections
		want        events.Time // of call a, which changed at 100
	}{
		"none":                     {nil, 100},
		"the call":                 {fold.Corrections{{System: system, Call: a, At: 200}}, 200},
		"another call":             {fold.Corrections{{System: system, Call: b, At: 200}}, 100},
		"the call elsewhere":       {fold.Corrections{{System: other, Call: a, At: 200}}, 100},
		"earlier than its change":  {fold.Corrections{{System: system, Call: a, At: 99}}, 100},
		"all of the phone system":  {fold.Corrections{{System: system, At: 200}}, 200},
		"all of another one":       {fold.Corrections{{System: other, At: 200}}, 100},
		"all that changed since":   {fold.Corrections{{Since: 100, At: 200}}, 200},
		"all that changed later":   {fold.Corrections{{Since: 101, At: 200}}, 100},
		"one makes another apply":  {fold.Corrections{{System: system, Call: a, At: 150}, {Since: 150, At: 200}}, 200},
		"none applies to its past": {fold.Corrections{{Since: 150, At: 160}, {System: system, Call: a, At: 170}}, 170},
	} {
		t.Run(name, func(t *testing.T) {
			s := fold.State{Corrections: c.corrections}
			s.CallLogs.Load(fold.Key{System: system, ID: a}, fold.CallLog{Key: fold.Key{System: system, ID: a}, UpdatedAt: 100})
			for range 2 { // the second time changes nothing
				s.ApplyCorrections()
				if got, _ := s.CallLogs.Get(fold.Key{System: system, ID: a}); got.UpdatedAt != c.want {
					t.Errorf("updated at %d, want %d", got.UpdatedAt, c.want)
				}
			}
		})
	}
}

func TestCorrections_Until(t *testing.T) {
	list := fold.Corrections{{At: 1}, {At: 2}, {At: 2}, {At: 5}}
	for watermark, want := range map[events.Time]int{0: 0, 1: 1, 2: 3, 4: 3, 5: 4} {
		if reached, rest := list.Until(watermark), list.After(watermark); len(reached) != want || len(rest) != len(list)-want {
			t.Errorf("watermark %d: reached %d, not reached %d, want %d, %d", watermark, len(reached), len(rest), want, len(list)-want)
		}
	}
}
