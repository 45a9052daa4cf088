package query

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWindow_WholeDays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		instant := rapid.OneOf(
			rapid.Map(rapid.Int64Range(-5*86400e3, 5*86400e3), time.UnixMilli),
			rapid.Map(rapid.Int64Range(-5, 5), func(days int64) time.Time { return time.Unix(days*86400, 0) }),
		)
		w := Window{From: instant.Draw(t, "from").UTC(), Until: instant.Draw(t, "until").UTC()}.ordered()
		from, until := w.wholeDays()
		if from.Before(w.From) || until.After(w.Until) || until.Before(from) {
			t.Fatalf("whole days of %v = %v to %v, want them in the window", w, from, until)
		}
		if !from.Equal(until) && (!from.Equal(from.Truncate(day)) || !until.Equal(until.Truncate(day))) {
			t.Errorf("whole days of %v = %v to %v, want days", w, from, until)
		}
		before, after := from.Sub(w.From), w.Until.Sub(until)
		if before >= day || after >= day {
			t.Errorf("rest of %v = %v before and %v after, want less than a day", w, before, after)
		}
	})
	if from, until := Always().wholeDays(); !from.Equal(Always().From) || !until.Equal(Always().Until) {
		t.Errorf("whole days of Always() = %v to %v, want the window", from, until)
	}
}
