package events

import (
	"slices"

	"github.com/google/uuid"
)

// CallGroup is a group of members that ring together.
type CallGroup struct {
	ID                uuid.UUID   `json:"id"`
	PhoneSystemID     uuid.UUID   `json:"phoneSystemId"`
	Version           int64       `json:"version"`
	Name              string      `json:"name"`
	Number            string      `json:"number"`
	Status            string      `json:"status"`
	CreatedAt         Time        `json:"createdAt"`
	UpdatedAt         Time        `json:"updatedAt"`
	Members           []Reference `json:"members"` // in ring order
	RingPattern       string      `json:"ringPattern"`
	UnansweredAction  *Action     `json:"unansweredAction"`
	VoicemailGreeting *Playback   `json:"voicemailGreeting"`
}

// Identity implements [State].
func (g *CallGroup) Identity() Identity {
	return Identity{EntityCallGroup, g.PhoneSystemID, g.ID.String(), g.Version}
}

// CallMenu is a spoken menu of digit choices.
type CallMenu struct {
	ID                     uuid.UUID `json:"id"`
	PhoneSystemID          uuid.UUID `json:"phoneSystemId"`
	Version                int64     `json:"version"`
	Name                   string    `json:"name"`
	Status                 string    `json:"status"`
	CreatedAt              Time      `json:"createdAt"`
	UpdatedAt              Time      `json:"updatedAt"`
	Prompt                 *Playback `json:"prompt"`
	Choices                []Choice  `json:"choices"` // in order
	DirectExtensionDialing bool      `json:"directExtensionDialing"`
	NoInputAction          *Action   `json:"noInputAction"`
}

// Choice is what a digit of a call menu does.
type Choice struct {
	Digit  string       `json:"digit" is:"0|1|2|3|4|5|6|7|8|9|*|#"` // 0 to 9, * or #
	Label  Null[string] `json:"label"`
	Action Action       `json:"action"`
}

// Identity implements [State].
func (m *CallMenu) Identity() Identity {
	return Identity{EntityCallMenu, m.PhoneSystemID, m.ID.String(), m.Version}
}

// check implements [checked].
func (m *CallMenu) check(o *object) {
	size := 0
	for _, choice := range m.Choices {
		size += jsonSize(choice.Label.Value) + jsonSize(choice.Action.Literal.Value)
	}
	if size > maxChoiceTexts {
		o.problem("choices", "labels and literals "+atMost(maxChoiceTexts, "bytes as JSON"))
	}
}

// Reference is the contract's typed reference. Customers read the entity that it names under PhoneSystemID.
type Reference struct {
	Type          string    `json:"type" is:"reference"`
	ID            uuid.UUID `json:"id"`
	PhoneSystemID uuid.UUID `json:"phoneSystemId"`
}

// Action is a step of call routing. A fetchable type has a reference of that type, and every other type a literal,
// such as a number to forward to or a public playback URL.
type Action struct {
	Type      string       `json:"type" is:"action"`
	Reference *Reference   `json:"reference"`
	Literal   Null[string] `json:"literal"`
}

// Playback is a greeting or prompt.
type Playback struct {
	Kind string       `json:"kind"`
	URL  Null[string] `json:"url"`
}

// fetchableTypes are the types whose entities customers can read.
func fetchableTypes() []string {
	return []string{
		"phone", "extension", "extension-voicemail", "agent-config", "call-group", "call-group-voicemail", "call-menu",
	}
}

func literalTypes() []string {
	return []string{"forward", "play-audio", "voicemail", "directory", "messaging", "hangup"}
}

// check implements [checked].
func (a *Action) check(o *object) {
	fetchable := slices.Contains(fetchableTypes(), a.Type)
	switch {
	case fetchable && !o.has("reference"):
		o.problem("reference", "is required for this type")
	case fetchable && a.Reference != nil && a.Reference.Type != a.Type:
		o.problem("reference", "must be of the action's own type")
	case slices.Contains(literalTypes(), a.Type) && a.Reference != nil:
		o.problem("reference", "must be null for this type")
	}
}
