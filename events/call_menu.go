package events

import "github.com/google/uuid"

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
	return &CallMenu{
		ID:                     required(o, "id", identifier),
		PhoneSystemID:          required(o, "phoneSystemId", identifier),
		Version:                readVersion(o),
		Name:                   required(o, "name", text),
		Status:                 required(o, "status", indexed(text)),
		CreatedAt:              required(o, "createdAt", instant),
		UpdatedAt:              required(o, "updatedAt", instant),
		Prompt:                 nested(o, "prompt", readPlayback),
		Choices:                list(o, "choices", readChoice),
		DirectExtensionDialing: required(o, "directExtensionDialing", boolean),
		NoInputAction:          nested(o, "noInputAction", readAction),
	}
}

func readChoice(o *object) Choice {
	return Choice{
		Digit:  required(o, "digit", oneOf("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#")),
		Label:  nullable(o, "label", text),
		Action: requiredNested(o, "action", readAction),
	}
}
