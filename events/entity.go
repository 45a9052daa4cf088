package events

import (
	"reflect"
	"strings"

	"github.com/google/uuid"
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

// registration says how the events of an entity are read and written.
type registration struct {
	entity   Entity
	global   bool                          // it can belong to no single phone system
	state    State                         // a nil pointer to the type of the data of a "changed" event
	readKey  func(*object, *Identity)      // reads system and key from the data of a "deleted" event
	writeKey func(string, *deletion) error // writes the key to the data of a "deleted" event
}

// registry is the table of all entities. An entity comes before the entities that refer to it.
//
//nolint:gochecknoglobals // nothing changes it
var registry = [...]registration{
	{EntityPhoneSystem, false, (*PhoneSystem)(nil), readSystemKey, writeID},
	{EntityGroup, true, (*Group)(nil), readID, writeID},
	{EntityExtension, false, (*Extension)(nil), readSystemAndID, writeID},
	{EntityPhone, false, (*Phone)(nil), readSystemAndID, writeID},
	{EntityPhoneNumber, false, (*PhoneNumber)(nil), readSystemAndID, writeID},
	{EntityAgentConfig, false, (*AgentConfig)(nil), readSystemAndID, writeID},
	{EntityCallGroup, false, (*CallGroup)(nil), readSystemAndID, writeID},
	{EntityCallMenu, false, (*CallMenu)(nil), readSystemAndID, writeID},
	{EntityRepresentative, false, (*Representative)(nil), readSystemAndID, writeID},
	{EntityClassification, true, (*Classification)(nil), readClassificationKey, writeClassificationKey},
	{EntityCall, false, (*Call)(nil), readSystemAndID, writeID},
	{EntityTranscript, false, (*Transcript)(nil), readTranscriptKey, writeTranscriptKey},
	{EntityRecording, false, (*Recording)(nil), readRecordingKey, writeRecordingKey},
	{EntityAnalysis, false, (*Analysis)(nil), readSystemAndID, writeID},
	{EntityVoicemail, false, (*Voicemail)(nil), readSystemAndID, writeID},
}

// registered returns an entity's registration; ok is false for an unknown entity.
func registered(entity Entity) (r registration, ok bool) {
	for _, r := range &registry {
		if r.entity == entity {
			return r, true
		}
	}
	return registration{}, false
}

// Entities returns all entities. An entity comes before the entities that refer to it.
func Entities() []Entity {
	var all []Entity
	for _, r := range &registry {
		all = append(all, r.entity)
	}
	return all
}

// deletion is the data of a "deleted" event. Of the key's members, only those of the entity are written.
type deletion struct {
	ID            Null[uuid.UUID] `json:"id,omitzero"`
	RecordingSid  string          `json:"recordingSid,omitempty"`
	CallID        Null[uuid.UUID] `json:"callId,omitzero"`
	VoicemailID   Null[uuid.UUID] `json:"voicemailId,omitzero"`
	Kind          string          `json:"kind,omitempty"`
	Code          string          `json:"code,omitempty"`
	PhoneSystemID Null[uuid.UUID] `json:"phoneSystemId,omitzero"`
	Version       int64           `json:"version"`
}

// readState reads the data of a "changed" event.
func (r registration) readState(o *object) State {
	to := reflect.New(reflect.TypeOf(r.state).Elem())
	planOf(to.Type().Elem()).read(o, to.Elem())
	return to.Interface().(State)
}

// readDeletion reads the data of a "deleted" event: the entity's key and the version of the deletion.
func (r registration) readDeletion(o *object) Identity {
	d := Identity{Entity: r.entity}
	r.readKey(o, &d)
	d.Version = required(o, "version", version)
	return d
}

func readID(o *object, d *Identity) { d.Key = required(o, "id", identifier).String() }

func readSystemAndID(o *object, d *Identity) {
	d.System = required(o, "phoneSystemId", identifier)
	readID(o, d)
}

func writeID(key string, d *deletion) error {
	id, err := uuid.Parse(key)
	d.ID = Some(id)
	return err
}

func readSystemKey(o *object, d *Identity) {
	d.System = required(o, "id", identifier)
	d.Key = d.System.String()
}

func readClassificationKey(o *object, d *Identity) {
	d.System = nullable(o, "phoneSystemId", systemOrGlobal).Value
	d.Key = classificationKey(required(o, "kind", classificationKind), required(o, "code", name))
}

func writeClassificationKey(key string, d *deletion) error {
	d.Kind, d.Code, _ = strings.Cut(key, "/")
	return nil
}

func readTranscriptKey(o *object, d *Identity) {
	d.System = required(o, "phoneSystemId", identifier)
	d.Key = readOwnerRow(o).Key()
}

func writeTranscriptKey(key string, d *deletion) error {
	owner, _ := ParseOwnerRow(key)
	d.CallID = Null[uuid.UUID]{owner.ID, owner.Entity == EntityCall}
	d.VoicemailID = Null[uuid.UUID]{owner.ID, owner.Entity == EntityVoicemail}
	return nil
}

func readRecordingKey(o *object, d *Identity) {
	d.System = required(o, "phoneSystemId", identifier)
	d.Key = required(o, "recordingSid", recordingSid)
}

func writeRecordingKey(key string, d *deletion) error {
	d.RecordingSid = key
	return nil
}
