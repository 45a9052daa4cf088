package events

import (
	"math"

	"github.com/google/uuid"
)

// State is an entity's whole state, the data of a "changed" event: a pointer to one of this package's entity types, such as [*Call].
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

// readState reads the data of a "changed" event.
func readState(entity Entity, o *object) State {
	switch entity {
	case EntityPhoneSystem:
		return readPhoneSystem(o)
	case EntityGroup:
		return readGroup(o)
	case EntityAgentConfig:
		return readAgentConfig(o)
	case EntityExtension:
		return readExtension(o)
	case EntityPhone:
		return readPhone(o)
	case EntityPhoneNumber:
		return readPhoneNumber(o)
	case EntityCallGroup:
		return readCallGroup(o)
	case EntityCallMenu:
		return readCallMenu(o)
	case EntityRepresentative:
		return readRepresentative(o)
	case EntityClassification:
		return readClassification(o)
	case EntityCall:
		return readCall(o)
	case EntityTranscript:
		return readTranscript(o)
	case EntityRecording:
		return readRecording(o)
	case EntityAnalysis:
		return readAnalysis(o)
	case EntityVoicemail:
		return readVoicemail(o)
	}
	return nil
}

// readDeletion reads the data of a "deleted" event: the entity's key and the version of the deletion.
func readDeletion(entity Entity, o *object) Identity {
	d := Identity{Entity: entity}
	switch entity {
	case EntityPhoneSystem:
		d.System = required(o, "id", identifier)
		d.Key = d.System.String()
	case EntityGroup:
		d.Key = required(o, "id", identifier).String()
	case EntityClassification:
		d.System = nullable(o, "phoneSystemId", systemOrGlobal).Value
		d.Key = classificationKey(required(o, "kind", classificationKind), required(o, "code", name))
	case EntityTranscript:
		d.System = required(o, "phoneSystemId", identifier)
		d.Key = readOwnerRow(o).Key()
	case EntityRecording:
		d.System = required(o, "phoneSystemId", identifier)
		d.Key = required(o, "recordingSid", recordingSid)
	default:
		d.System = required(o, "phoneSystemId", identifier)
		d.Key = required(o, "id", identifier).String()
	}
	d.Version = readVersion(o)
	return d
}

func readVersion(o *object) int64 { return required(o, "version", integer(1, math.MaxInt64)) }
