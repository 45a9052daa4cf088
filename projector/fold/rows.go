package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// Key is an entity's identity: the same id in two phone systems is two entities.
type Key struct {
	System uuid.UUID // [uuid.Nil] for an entity of no single system
	ID     uuid.UUID
}

// Tombstone is a row of tombstone: the version at which an entity was deleted and, for a facet, its owner row.
type Tombstone struct {
	TombstoneKey
	Version  int64
	OwnerRow events.OwnerRow
}

// TombstoneKey is the identity of a deleted entity.
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
}

// Group is a row of phone_system_group.
type Group struct {
	ID             uuid.UUID
	Version        int64
	Name           string
	PhoneSystemIDs string // UUIDs, separated by commas
}

// GroupMember is a row of phone_system_group_member. The phone system need not exist.
type GroupMember struct {
	System uuid.UUID
	Group  uuid.UUID
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

// Phone is a row of phone. Nested values are JSON text.
type Phone struct {
	Key
	Version       int64
	Name          string
	Status        string
	CreatedAt     events.Time
	UpdatedAt     events.Time
	ExtensionID   events.Null[uuid.UUID]
	DeviceRole    events.Null[string]
	ParentPhoneID events.Null[uuid.UUID]
	Slot          events.Null[int64]
	MACAddress    events.Null[string]
	Firmware      events.Null[string]
	Hardware      string
}

// PhoneNumber is a row of phone_number.
type PhoneNumber struct {
	Key
	Version     int64
	PhoneNumber string
	Label       events.Null[string]
	Status      string
	CreatedAt   events.Time
	UpdatedAt   events.Time
	Origin      string
	Country     events.Null[string]
	IsPrimary   bool
}

// AgentConfig is a row of agent_config.
type AgentConfig struct {
	Key
	Version     int64
	Name        string
	AgentNumber events.Null[int64]
	Status      string
	CreatedAt   events.Time
	UpdatedAt   events.Time
}

// CallMenu is a row of call_menu. Nested values are JSON text.
type CallMenu struct {
	Key
	Version                int64
	Name                   string
	Status                 string
	CreatedAt              events.Time
	UpdatedAt              events.Time
	Prompt                 events.Null[string]
	Choices                string
	DirectExtensionDialing bool
	NoInputAction          events.Null[string]
}

// Representative is a row of representative.
type Representative struct {
	Key
	Version   int64
	Name      string
	Status    string
	UpdatedAt events.Time
}

// Classification is a row of classification.
type Classification struct {
	ClassificationKey
	Version   int64
	Label     string
	Status    string
	Score     events.Null[float64]
	UpdatedAt events.Time
}

// ClassificationKey is a classification's identity. System is [uuid.Nil] for a global default.
type ClassificationKey struct {
	System uuid.UUID
	Kind   string
	Code   string
}

// Analysis is a row of analysis. CoachingTips are JSON text; OverallScore and AnalyzedAt are null until it is completed.
type Analysis struct {
	Key
	Version      int64
	CallID       uuid.UUID
	CallSid      string
	Status       string
	OverallScore events.Null[int64]
	AnalyzedAt   events.Null[events.Time]
	CreatedAt    events.Time
	CoachingTips string
	Findings
	Listed bool // the call has arrived
}

// Findings is the part of an analysis that a call shows.
type Findings struct {
	Category                 events.Null[string]
	OverallSentiment         Sentiment
	EmployeeSentiment        Sentiment
	CustomerSentiment        Sentiment
	SentimentSource          events.Null[string]
	ScorecardScore           events.Null[float64]
	RepresentativeState      string // identified, unknown, not_analyzed
	RepresentativeID         events.Null[uuid.UUID]
	RepresentativeConfidence events.Null[float64]
	RepresentativeSource     events.Null[string]
}

// Sentiment is a classification code and the score that the analysis gave it. A null code means no sentiment.
type Sentiment struct {
	Code  events.Null[string]
	Score events.Null[float64]
}

// Voicemail is a row of voicemail.
type Voicemail struct {
	Key
	Version      int64
	CallSid      string
	From         string
	FromName     events.Null[string]
	Duration     int64
	ExtensionID  events.Null[uuid.UUID]
	CallGroupID  events.Null[uuid.UUID]
	Listened     bool
	Archived     bool
	RecordingSid string
	CreatedAt    events.Time
}

// OwnerRowKey is the identity of a call or voicemail, as its facets name it.
type OwnerRowKey struct {
	System uuid.UUID
	events.OwnerRow
}

// Recording is a row of recording. CallSid is null until the recording's call has arrived.
type Recording struct {
	RecordingKey
	Version          int64
	OwnerRow         events.OwnerRow
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

// ExtensionEntry is a row of extension_call or extension_analysis: a call or an analysis that a key narrowed to the extension may
// read.
type ExtensionEntry struct {
	System    uuid.UUID
	Extension uuid.UUID
	CreatedAt events.Time
	ID        uuid.UUID
}

// CountKey is the key of a row of day_count.
type CountKey struct {
	System uuid.UUID
	List   string // the table's name
	Subset string // empty for all rows, else a status or an extension
	Day    events.Time
}

// ReferenceKey is the key of a row of reference_count.
type ReferenceKey struct {
	System uuid.UUID
	Family string // call_group, extension, representative, or a classification's kind
	Key    string // an id, or a code
}
