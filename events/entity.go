package events

// Entity is a kind of thing that changes, as it stands in a subject and in a ce-type.
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

// Entities are all entities, in the order of a phone system's making: what is referred to comes before what refers to it.
func Entities() []Entity {
	return []Entity{
		EntityPhoneSystem, EntityGroup, EntityExtension, EntityPhone, EntityPhoneNumber, EntityAgentConfig, EntityCallGroup,
		EntityCallMenu, EntityRepresentative, EntityClassification, EntityCall, EntityTranscript, EntityRecording,
		EntityAnalysis, EntityVoicemail,
	}
}
