package sample

import (
	"cmp"
	"slices"
	"testing"

	"callboard/events"
)

func TestAgenda(t *testing.T) {
	d := newDice(1)
	var a agenda
	var want []entry
	for range 500 {
		at := events.Time(d.below(60))
		a.add(at, nil, nil)
		want = append(want, entry{at: at, order: a.added})
	}
	slices.SortFunc(want, func(x, y entry) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.order, y.order)) })
	for i, w := range want {
		if got, ok := a.take(60); !ok || got.at != w.at || got.order != w.order {
			t.Fatalf("entry %d: %d/%d, want %d/%d", i, got.at, got.order, w.at, w.order)
		}
	}
	a.add(7, nil, nil)
	if _, ok := a.take(6); ok {
		t.Error("took what isn't due")
	}
}

func TestDice(t *testing.T) {
	d := newDice(1, 2, 3)
	var weights [3]int
	for range 10_000 {
		if n := d.below(7); n < 0 || n > 6 {
			t.Fatalf("below 7: %d", n)
		}
		if n := d.between(-3, 3); n < -3 || n > 3 {
			t.Fatalf("between -3 and 3: %d", n)
		}
		if n := d.spread(100); n < 10 || n > 953 {
			t.Fatalf("around 100: %d", n)
		}
		weights[d.weighted(1, 0, 9)]++
	}
	if weights[1] != 0 || weights[0] < 800 || weights[0] > 1200 {
		t.Errorf("weights %v", weights)
	}
	if id := d.uuid(); id.Version() != 4 || id.Variant().String() != "RFC4122" {
		t.Errorf("UUID %s", id)
	}
}
