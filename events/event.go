package events

import (
	"strings"
	"time"
)

// Event is one change of one entity.
type Event struct {
	ID     string    // ce-id
	Source string    // ce-source
	Time   time.Time // ce-time; zero if the publisher gave none
	Identity
	State State // nil if the entity was deleted
}

// Deleted reports whether the event deletes its entity.
func (e Event) Deleted() bool { return e.State == nil }

// Changed returns the event for an entity's new state.
func Changed(state State) Event { return Event{Identity: state.Identity(), State: state} }

// Deleted returns the event that deletes an entity. id.Version must be above every earlier version of the entity.
func Deleted(id Identity) Event { return Event{Identity: id} }

// Type returns the event's ce-type: callboard.<entity>.changed or callboard.<entity>.deleted.
func (e Event) Type() string {
	if e.Deleted() {
		return typePrefix + string(e.Entity) + deletedSuffix
	}
	return typePrefix + string(e.Entity) + changedSuffix
}

const (
	typePrefix    = "callboard."
	changedSuffix = ".changed"
	deletedSuffix = ".deleted"
)

// parseType parses a ce-type; ok is false if it is not the type of a known entity.
func parseType(ceType string) (r registration, deleted, ok bool) {
	rest, ok := strings.CutPrefix(ceType, typePrefix)
	if !ok {
		return r, false, false
	}
	name, deleted := strings.CutSuffix(rest, deletedSuffix)
	if !deleted {
		name, ok = strings.CutSuffix(rest, changedSuffix)
	}
	r, known := registered(Entity(name))
	return r, deleted, ok && known
}
