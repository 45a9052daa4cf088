package events

import (
	"slices"
	"strings"
	"time"
)

// Entity is a kind of event, as subjects and the ce-type name it.
type Entity string

// The entities.
const (
	EntityPhoneSystem    Entity = "phone-system"
	EntityGroup          Entity = "group"
	EntityAgentConfig    Entity = "agent-config"
	EntityExtension      Entity = "extension"
	EntityPhone          Entity = "phone"
	EntityPhoneNumber    Entity = "phone-number"
	EntityCallGroup      Entity = "call-group"
	EntityCallMenu       Entity = "call-menu"
	EntityRepresentative Entity = "representative"
	EntityClassification Entity = "classification"
	EntityCall           Entity = "call"
	EntityTranscript     Entity = "transcript"
	EntityRecording      Entity = "recording"
	EntityAnalysis       Entity = "analysis"
	EntityVoicemail      Entity = "voicemail"
)

// Entities returns all entities. An entity comes before the entities that refer to it.
func Entities() []Entity {
	return []Entity{
		EntityPhoneSystem, EntityGroup, EntityExtension, EntityPhone, EntityPhoneNumber, EntityAgentConfig, EntityCallGroup,
		EntityCallMenu, EntityRepresentative, EntityClassification, EntityCall, EntityTranscript,
		EntityRecording, EntityAnalysis, EntityVoicemail,
	}
}

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
func parseType(ceType string) (entity Entity, deleted, ok bool) {
	rest, ok := strings.CutPrefix(ceType, typePrefix)
	if !ok {
		return "", false, false
	}
	name, deleted := strings.CutSuffix(rest, deletedSuffix)
	if !deleted {
		name, ok = strings.CutSuffix(rest, changedSuffix)
	}
	return Entity(name), deleted, ok && known(Entity(name))
}

func known(entity Entity) bool { return slices.Contains(Entities(), entity) }
