package events

import (
	"slices"

	"github.com/google/uuid"
)

// Reference is the contract's typed reference: what it names is read under its own phone system.
type Reference struct {
	Type          string    `json:"type"`
	ID            uuid.UUID `json:"id"`
	PhoneSystemID uuid.UUID `json:"phoneSystemId"`
}

// Action is what happens to a caller. A fetchable type carries a reference of that type, the others their literal:
// a number to forward to, a public playback URL.
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
