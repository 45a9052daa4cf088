package query

import (
	"time"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// Filter says which rows of a list are requested.
type Filter struct {
	System    uuid.UUID
	Window    Window
	Exact     []Exact          // each column at most once, and only columns that the list can be filtered by
	Narrowing access.Narrowing // of lists that can be narrowed
	Offset    int64
	Limit     int64
}

// Exact selects rows whose column equals the value, given as text.
type Exact struct {
	Column Column
	Value  string
}

// Column is a column that lists can be filtered by.
type Column string

// The columns.
const (
	Status      Column = "status"
	ExtensionID Column = "extension_id"
	Number      Column = "number"
	CallSid     Column = "call_sid"
	CallLogID   Column = "call_id"
)

// narrowedExtension stands for the extension that a key is narrowed to. It is no column of a table.
const narrowedExtension Column = "narrowed_extension"

// exact is the filter's value for a column, and whether it has one.
func (f Filter) exact(column Column) (value any, ok bool) {
	if column == narrowedExtension {
		return extensionOf(f.Narrowing), f.Narrowing.On
	}
	for _, e := range f.Exact {
		if e.Column == column {
			return e.Value, true
		}
	}
	return nil, false
}

// extensionOf is the extension that a key is narrowed to, nil if it was deleted: NULL equals nothing.
func extensionOf(n access.Narrowing) any {
	if !n.Extension.Valid {
		return nil
	}
	return n.Extension.UUID.String()
}

// Window is a half-open interval of a list's createdAt. Its ends are whole milliseconds, like stored times.
type Window struct {
	From, Until time.Time
}

// Always is the window of a list without dates: all times that RFC 3339 can express.
func Always() Window {
	return Window{
		From:  time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		Until: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

const day = 24 * time.Hour

// wholeDays are the whole days in the window, whose rows the projector has counted. The rest before and after them is
// less than a day each, and its rows are counted from the index. Without a whole day, the window is empty.
func (w Window) wholeDays() Window {
	whole := Window{From: w.From.Truncate(day), Until: w.Until.Truncate(day)}
	if whole.From.Before(w.From) {
		whole.From = whole.From.AddDate(0, 0, 1)
	}
	return whole.within(w)
}

// within is the window, or an empty one at the beginning of the other window if it ends before it begins.
func (w Window) within(other Window) Window {
	if w.From.After(w.Until) {
		return Window{From: other.From, Until: other.From}
	}
	return w
}

// ordered is the window, made empty if it ends before it begins.
func (w Window) ordered() Window {
	if w.Until.Before(w.From) {
		w.Until = w.From
	}
	return w
}
