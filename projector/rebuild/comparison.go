package rebuild

import "github.com/google/uuid"

// Comparison is how the served rows differ from the expected ones.
type Comparison struct {
	Rows            int64               `json:"rows"`            // expected
	Changes         []Change            `json:"changes"`         // by table
	Samples         []Difference        `json:"samples"`         // some of the rows that differ
	Unreadable      []UnreadableMessage `json:"unreadable"`      // messages that the served projection applied
	MissingColumns  []string            `json:"missingColumns"`  // tables and columns that the served projection does not have
	OtherDefinition bool                `json:"otherDefinition"` // another release built the served projection, so differences are expected

	// ChangedSystems are the phone systems whose reports show other values than they should. Their calls get a later
	// updatedAt when the expected rows go live.
	ChangedSystems int `json:"changedSystems"`
}

// Differs reports whether there is a difference that the definition does not explain.
func (c Comparison) Differs() bool {
	return len(c.Changes)+len(c.Unreadable) > 0 || len(c.MissingColumns) > 0 && !c.OtherDefinition
}

// Change is a number of rows that differ in the same way.
type Change struct {
	Table string `json:"table"`
	Kind  Kind   `json:"kind"`
	Rows  int64  `json:"rows"`
}

// Kind is how a row differs.
type Kind string

// The kinds.
const (
	KindMissing Kind = "missing" // expected and not served
	KindSurplus Kind = "surplus" // served and not expected
	KindChanged Kind = "changed"
)

// Difference is a row that differs.
type Difference struct {
	Table  string    `json:"table"`
	System uuid.UUID `json:"phoneSystemId"`
	Kind   Kind      `json:"kind"`
	Key    []Value   `json:"key,omitempty"`
	Values []Value   `json:"values,omitempty"` // of KindChanged
}

// Value is the value of a column, formatted for people.
type Value struct {
	Column   string `json:"column"`
	Served   string `json:"served,omitempty"` // of Difference.Values
	Expected string `json:"expected"`
}

// UnreadableMessage is a message that was applied once and can no longer be read.
type UnreadableMessage struct {
	Sequence uint64 `json:"sequence"`
	Subject  string `json:"subject"`
	Reason   string `json:"reason"`
}
