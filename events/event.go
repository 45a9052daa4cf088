package events

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Event is one change of one entity.
type Event struct {
	ID     string    // ce-id
	Source string    // ce-source
	Time   time.Time // ce-time; zero where the publisher gave none
	Identity
	State State // nil: the entity was deleted
}

// Deleted tells whether the event is the entity's end.
func (e Event) Deleted() bool { return e.State == nil }

// Changed is the event that announces an entity's new state.
func Changed(state State) Event { return Event{Identity: state.Identity(), State: state} }

// Deleted is the event that announces the end of the entity that id names; id.Version is above every version it had.
func Deleted(id Identity) Event { return Event{Identity: id} }

// Type is the event's ce-type: callboard.<entity>.changed or callboard.<entity>.deleted.
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

// parseType reads a ce-type; ok is false where it is none of ours.
func parseType(ceType string) (entity Entity, deleted, ok bool) {
	rest, ours := strings.CutPrefix(ceType, typePrefix)
	if !ours {
		return "", false, false
	}
	name, deleted := strings.CutSuffix(rest, deletedSuffix)
	if !deleted {
		name, ours = strings.CutSuffix(rest, changedSuffix)
	}
	return Entity(name), deleted, ours && known(Entity(name))
}

func known(entity Entity) bool {
	for _, e := range Entities() {
		if e == entity {
			return true
		}
	}
	return false
}

// systemToken is the subject token of a system: its UUID in lower case, or "global" for [uuid.Nil].
func systemToken(system uuid.UUID) string {
	if system == uuid.Nil {
		return Global
	}
	return system.String()
}
