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

func readCallGroup(o *object) State {
	return &CallGroup{
		ID:                required(o, "id", identifier),
		PhoneSystemID:     required(o, "phoneSystemId", identifier),
		Version:           readVersion(o),
		Name:              required(o, "name", text),
		Number:            required(o, "number", text),
		Status:            required(o, "status", text),
		CreatedAt:         required(o, "createdAt", instant),
		UpdatedAt:         required(o, "updatedAt", instant),
		Members:           list(o, "members", maxElements, readReference),
		RingPattern:       required(o, "ringPattern", text),
		UnansweredAction:  nested(o, "unansweredAction", readAction),
		VoicemailGreeting: nested(o, "voicemailGreeting", readPlayback),
	}
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
	Digit  string       `json:"digit"` // 0 to 9, * or #
	Label  Null[string] `json:"label"`
	Action Action       `json:"action"`
}

// Identity implements [State].
func (m *CallMenu) Identity() Identity {
	return Identity{EntityCallMenu, m.PhoneSystemID, m.ID.String(), m.Version}
}

func readCallMenu(o *object) State {
	m := &CallMenu{
		ID:                     required(o, "id", identifier),
		PhoneSystemID:          required(o, "phoneSystemId", identifier),
		Version:                readVersion(o),
		Name:                   required(o, "name", text),
		Status:                 required(o, "status", text),
		CreatedAt:              required(o, "createdAt", instant),
		UpdatedAt:              required(o, "updatedAt", instant),
		Prompt:                 nested(o, "prompt", readPlayback),
		Choices:                list(o, "choices", maxElements, readChoice),
		DirectExtensionDialing: required(o, "directExtensionDialing", boolean),
		NoInputAction:          nested(o, "noInputAction", readAction),
	}

	size := 0
	for _, choice := range m.Choices {
		size += jsonSize(choice.Label.Value) + jsonSize(choice.Action.Literal.Value)
	}
	if size > maxChoiceTexts {
		o.problem("choices", "labels and literals "+atMost(maxChoiceTexts, "bytes as JSON"))
	}
	return m
}

func readChoice(o *object) Choice {
	return Choice{
		Digit:  required(o, "digit", oneOf("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#")),
		Label:  nullable(o, "label", text),
		Action: requiredNested(o, "action", readAction),
	}
}

// Reference is the contract's typed reference. Customers read the entity that it names under PhoneSystemID.
type Reference struct {
	Type          string    `json:"type"`
	ID            uuid.UUID `json:"id"`
	PhoneSystemID uuid.UUID `json:"phoneSystemId"`
}

// Action is a step of call routing. A fetchable type has a reference of that type, and every other type a literal, such as a number to
// forward to or a public playback URL.
type Action struct {
	Type      string       `json:"type"`
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

func readReference(o *object) Reference {
	return Reference{
		Type:          required(o, "type", oneOf(fetchableTypes()...)),
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
	}
}

func readAction(o *object) Action {
	a := Action{
		Type:      required(o, "type", oneOf(append(fetchableTypes(), literalTypes()...)...)),
		Reference: nested(o, "reference", readReference),
		Literal:   nullable(o, "literal", text),
	}
	fetchable := slices.Contains(fetchableTypes(), a.Type)
	switch {
	case fetchable && !o.has("reference"):
		o.problem("reference", "is required for this type")
	case fetchable && a.Reference != nil && a.Reference.Type != a.Type:
		o.problem("reference", "must be of the action's own type")
	case slices.Contains(literalTypes(), a.Type) && a.Reference != nil:
		o.problem("reference", "must be null for this type")
	}
	return a
}

func readPlayback(o *object) Playback {
	return Playback{Kind: required(o, "kind", text), URL: nullable(o, "url", text)}
}
