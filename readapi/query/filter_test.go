package query

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWindow_WholeDaysAndMonths(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]struct {
		whole func(Window) Window
		next  func(time.Time) time.Time
	}{
		"days":   {Window.wholeDays, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
		"months": {Window.wholeMonths, func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := Window{From: drawInstant(t, "from"), Until: drawInstant(t, "until")}.ordered()
				want := wholeUnits(w, unit.next)
				got := unit.whole(w)
				if got.From.Before(w.From) || got.Until.After(w.Until) || !got.Until.Equal(got.From.Add(want.Until.Sub(want.From))) {
					t.Fatalf("whole %s of %v = %v, want %v", name, w, got, want)
				}
				if want.From.Before(want.Until) && !got.From.Equal(want.From) {
					t.Errorf("whole %s of %v = %v, want %v", name, w, got, want)
				}
			})
			if got := unit.whole(Always()); got != Always() {
				t.Errorf("whole %s of Always() = %v, want the window", name, got)
			}
		})
	}
}

// wholeUnits looks at one unit after another, from the start of the month on.
func wholeUnits(w Window, next func(time.Time) time.Time) Window {
	whole := Window{From: w.From, Until: w.From}
	year, month, _ := w.From.UTC().Date()
	for start := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC); !next(start).After(w.Until); start = next(start) {
		if start.Before(w.From) {
			continue
		}
		if whole.Until.Equal(w.From) {
			whole.From = start
		}
		whole.Until = next(start)
	}
	return whole
}

// drawInstant draws an instant of some months before and after a change of the year, often the start of a day or of a month, in any
// time zone.
func drawInstant(t *rapid.T, name string) time.Time {
	instant := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).AddDate(0, rapid.IntRange(-4, 4).Draw(t, name+" month"), 0)
	instant = instant.AddDate(0, 0, rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 40)).Draw(t, name+" day"))
	instant = instant.Add(time.Duration(rapid.OneOf(rapid.Just(0), rapid.IntRange(-86400e3, 86400e3)).Draw(t, name+" ms")) * time.Millisecond)
	return instant.In(time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, name+" zone")*3600))
}
