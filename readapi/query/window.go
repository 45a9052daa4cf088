package query

import "time"

// Window is a stretch of time on a list's createdAt, half open. Its ends are whole milliseconds, the precision of what is
// stored.
type Window struct {
	From, Until time.Time
}

// Always is the window of a list without dates: all that RFC 3339 can say.
func Always() Window {
	return Window{
		From:  time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		Until: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

const day = 24 * time.Hour

// wholeDays are the bounds of the window's whole days, which are counted already. What lies before them and after them is less
// than a day each and is counted from the index. They lie inside the window; where it holds no whole day they are equal.
func (w Window) wholeDays() (from, until time.Time) {
	from, until = w.From.Truncate(day), w.Until.Truncate(day)
	if from.Before(w.From) {
		from = from.AddDate(0, 0, 1)
	}
	if from.After(until) {
		return w.From, w.From
	}
	return from, until
}

// normal is the window with its ends in order: one that ends before it begins is empty.
func (w Window) normal() Window {
	if w.Until.Before(w.From) {
		w.Until = w.From
	}
	return w
}
