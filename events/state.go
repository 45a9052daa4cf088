package events

import "github.com/google/uuid"

// State is an entity's whole state, the data of a "changed" event: a pointer to one of this package's entity types,
// such as [*Call].
type State interface {
	// Identity returns the entity, its phone system, its key and the state's version.
	Identity() Identity
}

// Identity identifies one state of one entity.
type Identity struct {
	Entity  Entity
	System  uuid.UUID // [uuid.Nil] for an entity of no single phone system
	Key     string    // within the entity and the system
	Version int64
}
