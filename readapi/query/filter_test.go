package query

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWindow_WholeDays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := Window{From: drawInstant(t, "from"), Until: drawInstant(t, "until")}.ordered()
		var days []time.Time // one after another, from before the window on
		for start := w.From.UTC().Truncate(day).AddDate(0, 0, -1); !start.AddDate(0, 0, 1).After(w.Until); start = start.AddDate(0, 0, 1) {
			if !start.Before(w.From) {
				days = append(days, start)
			}
		}
		got := w.wholeDays()
		if got.From.Before(w.From) || got.Until.After(w.Until) || got.Until.Sub(got.From) != time.Duration(len(days))*day {
			t.Fatalf("whole days of %v = %v, want %d days", w, got, len(days))
		}
		if len(days) > 0 && !got.From.Equal(days[0]) {
			t.Errorf("whole days of %v = %v, want them from %v on", w, got, days[0])
		}
	})
	if got := Always().wholeDays(); got != Always() {
		t.Errorf("whole days of Always() = %v, want the window", got)
	}
}

// drawInstant draws an instant around a change of the year, often the start of a day, in any time zone.
func drawInstant(t *rapid.T, name string) time.Time {
	instant := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(-40, 40).Draw(t, name+" day"))
	instant = instant.Add(time.Duration(rapid.OneOf(rapid.Just(0), rapid.IntRange(-86400e3, 86400e3)).Draw(t, name+" ms")) * time.Millisecond)
	return instant.In(time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, name+" zone")*3600))
}
