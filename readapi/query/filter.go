package query

import (
	"github.com/google/uuid"
)

// Filter says which rows of a list are asked for.
type Filter struct {
	System uuid.UUID
	Window Window
	Exact  []Exact   // each at most once, and only those that the list has
	Own    Narrowing // of lists of what belongs to calls
	Offset int64
	Limit  int64
}

// Exact is a filter on rows whose column equals the value, which is the column's in text.
type Exact struct {
	Column Column
	Value  string
}

// Column is what a list can be filtered by.
type Column string

// The columns.
const (
	Status      Column = "status"
	ExtensionID Column = "extension_id"
	PhoneNumber Column = "phone_number"
	Number      Column = "number"
	AgentNumber Column = "agent_number"
	CallSid     Column = "call_sid"
	CallLogID   Column = "call_id"
)

// own stands for the extension that a key is narrowed to.
const own Column = "own"

// exact is the filter's value for a column. It is nil where a key is narrowed to an extension that is not there: null equals
// nothing.
func (f Filter) exact(column Column) (value any, given bool) {
	if column == own {
		return f.Own.argument(), f.Own.On
	}
	for _, e := range f.Exact {
		if e.Column == column {
			return e.Value, true
		}
	}
	return nil, false
}

// Narrowing limits what is read of calls to one extension's own. An extension that is not valid has none.
type Narrowing struct {
	On        bool
	Extension uuid.NullUUID
}

func (n Narrowing) argument() any {
	if !n.Extension.Valid {
		return nil
	}
	return n.Extension.UUID.String()
}
