package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// Key is an entity's identity: the same id in two phone systems is two entities.
type Key struct {
	System uuid.UUID // [uuid.Nil]: belongs to no single system
	ID     uuid.UUID
}

// Tombstone is the version at which an entity ended and, for a facet, what it hung on.
type Tombstone struct {
	TombstoneKey
	Version int64
	Owner   events.Owner
}

// TombstoneKey is the identity of an entity that ended.
type TombstoneKey struct {
	System uuid.UUID
	Entity events.Entity
	Key    string
}

// PhoneSystem is a row of phone_system.
type PhoneSystem struct {
	ID             uuid.UUID
	Version        int64
	Name           string
	OrganizationID events.Null[uuid.UUID]
	Partition      int16
}

// Group is a row of phone_system_group.
type Group struct {
	ID             uuid.UUID
	Version        int64
	Name           string
	PhoneSystemIDs string // UUIDs, separated by commas
}

// Extension is a row of extension. Nested values are JSON text.
type Extension struct {
	Key
	Version           int64
	Number            string
	Name              string
	Status            string
	CreatedAt         events.Time
	UpdatedAt         events.Time
	AssignedPhones    string
	UnansweredAction  events.Null[string]
	VoicemailGreeting events.Null[string]
}

// CallGroup is a row of call_group. Nested values are JSON text.
type CallGroup struct {
	Key
	Version           int64
	Name              string
	Number            string
	Status            string
	CreatedAt         events.Time
	UpdatedAt         events.Time
	Members           string
	RingPattern       string
	UnansweredAction  events.Null[string]
	VoicemailGreeting events.Null[string]
}

// OwnerKey names a call or voicemail of a system.
type OwnerKey struct {
	System uuid.UUID
	events.Owner
}

// Recording is a row of recording. CallSid is that of its call, once that has arrived.
type Recording struct {
	RecordingKey
	Version          int64
	Owner            events.Owner
	Status           string
	Duration         events.Null[int64]
	CreatedAt        events.Time
	AudioKey         events.Null[string]
	AudioContentType events.Null[string]
	AudioBytes       events.Null[int64]
	CallSid          events.Null[string]
}

// RecordingKey is a recording's identity.
type RecordingKey struct {
	System uuid.UUID
	Sid    string
}

// ExtensionCall is a row of extension_call: a call that a key narrowed to the extension may see.
type ExtensionCall struct {
	System    uuid.UUID
	Extension uuid.UUID
	CreatedAt events.Time
	Call      uuid.UUID
}

// CountKey names a row of day_count.
type CountKey struct {
	System uuid.UUID
	List   string
	Subset uuid.UUID // [uuid.Nil]: the whole list; else the rows of this extension
	Day    events.Time
}

// ListCallLog is the call log's name in day_count.
const ListCallLog = "call_log"

func (r PhoneSystem) version() int64 { return r.Version }
func (r Group) version() int64       { return r.Version }
func (r Extension) version() int64   { return r.Version }
func (r CallGroup) version() int64   { return r.Version }
