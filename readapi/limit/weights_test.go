package limit

import "testing"

func TestWeigh_HoldsEveryAllowance(t *testing.T) {
	const report = 120
	for tier := 1; tier <= 20000; tier++ {
		w, err := weigh(tier, report)
		if err != nil {
			t.Fatal(err)
		}
		if held := w.size / w.tier; held != tier {
			t.Fatalf("%d: %+v holds %d", tier, w, held)
		}
		if held := w.size / w.report; held != min(tier, report) {
			t.Fatalf("%d: %+v holds %d of a report operation", tier, w, held)
		}
		if w.tier+w.report > maxBatch {
			t.Fatalf("%d: %+v does not fit into a batch", tier, w)
		}
	}
}

// lighter looks for permits that weigh less, the hard way.
func lighter(w weights, tier, report int) (weights, bool) {
	for own := 1; own <= w.tier; own++ {
		for other := 1; own < w.tier || other < w.report; other++ {
			if tier*own >= (report+1)*other+own+other { // far too light
				continue
			}
			for size := tier * own; size < (tier+1)*own; size++ {
				if size/other == report {
					return weights{size, own, other}, true
				}
			}
			if other > tier*own {
				break
			}
		}
	}
	return weights{}, false
}

func TestWeigh_IsLightest(t *testing.T) {
	for report := 1; report <= 12; report++ {
		for tier := report + 1; tier <= 60; tier++ {
			w, err := weigh(tier, report)
			if err != nil {
				t.Fatal(err)
			}
			if l, found := lighter(w, tier, report); found {
				t.Errorf("%d beside %d: %+v, but %+v would do", tier, report, w, l)
			}
		}
	}
}

func TestWeigh_Examples(t *testing.T) {
	for tier, want := range map[int]weights{
		60:   {60, 1, 1},
		120:  {120, 1, 1},
		121:  {7440, 61, 62},
		600:  {600, 1, 5},
		1000: {3000, 3, 25},
	} {
		if w, err := weigh(tier, 120); err != nil || w != want {
			t.Errorf("%d: %+v, %v", tier, w, err)
		}
	}
}

func TestWeigh_RefusesWhatFitsIntoNoBatch(t *testing.T) {
	if w, err := weigh(MaxPerMinute, ReportPerMinute); err != nil || w.tier+w.report != maxBatch {
		t.Errorf("%+v, %v", w, err)
	}
	for _, tier := range []int{MaxPerMinute + 1, 1_000_000} {
		if w, err := weigh(tier, ReportPerMinute); err == nil {
			t.Errorf("%d: %+v", tier, w)
		}
	}
}
