package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// The tags name the columns of a row's fields. Where a struct's fields have no tags, the tag of the struct names their
// columns, in order. A row begins with the fields of its key.

// JSON is JSON text in the contract's form. It is stored and served byte for byte.
type JSON string

// IDList is a list of UUIDs, separated by commas.
type IDList string

// Day is the start of a day, UTC.
type Day events.Time

// Key is an entity's identity: the same id in two phone systems is two entities.
type Key struct {
	System uuid.UUID `db:"system_id"` // [uuid.Nil] for an entity of no single system
	ID     uuid.UUID `db:"id"`
}

// Versioned is embedded in rows that have the version of their last event. Its methods are those of a row that no list
// counts and no row of another table shows; other rows have methods of their own.
type Versioned struct {
	Version int64 `db:"version"`
}

func (v Versioned) version() int64        { return v.Version }
func (v Versioned) countKeys() []CountKey { return nil }
func (v Versioned) displayed() displayed  { return displayed{} }

// Tombstone is a row of tombstone: the version at which an entity was deleted and, for a facet, its owner row.
type Tombstone struct {
	TombstoneKey
	Version  int64           `db:"version"`
	OwnerRow events.OwnerRow `db:"owner,owner_id"`
}

// TombstoneKey is the identity of a deleted entity.
type TombstoneKey struct {
	System uuid.UUID     `db:"system_id"`
	Entity events.Entity `db:"entity"`
	Key    string        `db:"key"`
}

// PhoneSystem is a row of phone_system.
type PhoneSystem struct {
	ID uuid.UUID `db:"id"`
	Versioned
	Name           string                 `db:"name"`
	OrganizationID events.Null[uuid.UUID] `db:"organization_id"`
	Directory      int64                  `db:"directory"` // how many events have changed what rows of other tables show
}

// Group is a row of phone_system_group.
type Group struct {
	ID uuid.UUID `db:"id"`
	Versioned
	Name           string `db:"name"`
	PhoneSystemIDs IDList `db:"phone_system_ids"`
}

// GroupMember is a row of phone_system_group_member. The phone system need not exist.
type GroupMember struct {
	System uuid.UUID `db:"system_id"`
	Group  uuid.UUID `db:"group_id"`
}

// Representative is a row of representative.
type Representative struct {
	Key
	Versioned
	Name      string      `db:"name"`
	Status    string      `db:"status"`
	UpdatedAt events.Time `db:"updated_at"`
}

// Classification is a row of classification.
type Classification struct {
	ClassificationKey
	Versioned
	Label     string               `db:"label"`
	Status    string               `db:"status"`
	Score     events.Null[float64] `db:"score"`
	UpdatedAt events.Time          `db:"updated_at"`
}

// ClassificationKey is a classification's identity. System is [uuid.Nil] for a global default.
type ClassificationKey struct {
	System uuid.UUID `db:"system_id"`
	Kind   string    `db:"kind"`
	Code   string    `db:"code"`
}

// Analysis is a row of analysis. OverallScore and AnalyzedAt are null until it is completed.
type Analysis struct {
	Key
	Versioned
	CallID       uuid.UUID                `db:"call_id"`
	CallSid      string                   `db:"call_sid"`
	Status       string                   `db:"status"`
	OverallScore events.Null[int64]       `db:"overall_score"`
	AnalyzedAt   events.Null[events.Time] `db:"analyzed_at"`
	CreatedAt    events.Time              `db:"created_at"`
	CoachingTips JSON                     `db:"coaching_tips"`
	Findings
	Listed bool `db:"listed"` // the call has arrived
}

// Findings is the part of an analysis that a call shows.
type Findings struct {
	Category                 events.Null[string]    `db:"category"`
	OverallSentiment         Sentiment              `db:"overall_sentiment,overall_sentiment_score"`
	EmployeeSentiment        Sentiment              `db:"employee_sentiment,employee_sentiment_score"`
	CustomerSentiment        Sentiment              `db:"customer_sentiment,customer_sentiment_score"`
	SentimentSource          events.Null[string]    `db:"sentiment_source"`
	ScorecardScore           events.Null[float64]   `db:"scorecard_score"`
	RepresentativeState      string                 `db:"representative_state"` // identified, unknown, not_analyzed
	RepresentativeID         events.Null[uuid.UUID] `db:"representative_id"`
	RepresentativeConfidence events.Null[float64]   `db:"representative_confidence"`
	RepresentativeSource     events.Null[string]    `db:"representative_source"`
}

// Sentiment is a classification code and the score that the analysis gave it. A null code means no sentiment.
type Sentiment struct {
	Code  events.Null[string]
	Score events.Null[float64]
}

// Voicemail is a row of voicemail.
type Voicemail struct {
	Key
	Versioned
	CallSid      string                 `db:"call_sid"`
	From         string                 `db:"from_party"`
	FromName     events.Null[string]    `db:"from_name"`
	Duration     int64                  `db:"duration"`
	ExtensionID  events.Null[uuid.UUID] `db:"extension_id"`
	CallGroupID  events.Null[uuid.UUID] `db:"call_group_id"`
	Listened     bool                   `db:"listened"`
	Archived     bool                   `db:"archived"`
	RecordingSid string                 `db:"recording_sid"`
	CreatedAt    events.Time            `db:"created_at"`
}

// OwnerRowKey is the identity of a call or voicemail, as its facets name it.
type OwnerRowKey struct {
	System          uuid.UUID `db:"system_id"`
	events.OwnerRow `db:"owner,owner_id"`
}

// Recording is a row of recording. CallSid is null until the recording's call has arrived.
type Recording struct {
	RecordingKey
	Versioned
	OwnerRow         events.OwnerRow     `db:"owner,owner_id"`
	Status           string              `db:"status"`
	Duration         events.Null[int64]  `db:"duration"`
	CreatedAt        events.Time         `db:"created_at"`
	AudioKey         events.Null[string] `db:"audio_key"`
	AudioContentType events.Null[string] `db:"audio_content_type"`
	AudioBytes       events.Null[int64]  `db:"audio_bytes"`
	CallSid          events.Null[string] `db:"call_sid"`
}

// RecordingKey is a recording's identity.
type RecordingKey struct {
	System uuid.UUID `db:"system_id"`
	Sid    string    `db:"recording_sid"`
}

// ExtensionEntry is a row of extension_entry: a call or an analysis that a key narrowed to the extension may read.
type ExtensionEntry struct {
	System    uuid.UUID   `db:"system_id"`
	Extension uuid.UUID   `db:"extension_id"`
	Analysis  bool        `db:"analysis"` // false: a call
	CreatedAt events.Time `db:"created_at"`
	ID        uuid.UUID   `db:"id"` // of the call or the analysis
}

// CountKey is the key of a row of row_count: a list's rows of a day, or the calls that refer to something.
type CountKey struct {
	System uuid.UUID `db:"system_id"`
	List   string    `db:"list"`
	Subset string    `db:"subset"` // empty for all rows, else a status or an extension; of references, an id or a code
	Day    Day       `db:"day"`    // of references 0
}
