package events

import "github.com/google/uuid"

// Extension is an internal number of a phone system.
type Extension struct {
	ID                uuid.UUID   `json:"id"`
	PhoneSystemID     uuid.UUID   `json:"phoneSystemId"`
	Version           int64       `json:"version"`
	Number            string      `json:"number"`
	Name              string      `json:"name"`
	Status            string      `json:"status"`
	CreatedAt         Time        `json:"createdAt"`
	UpdatedAt         Time        `json:"updatedAt"`
	AssignedPhoneIDs  []uuid.UUID `json:"assignedPhoneIds"`
	UnansweredAction  *Action     `json:"unansweredAction"`
	VoicemailGreeting *Playback   `json:"voicemailGreeting"`
}

// Identity implements [State].
func (e *Extension) Identity() Identity {
	return Identity{EntityExtension, e.PhoneSystemID, e.ID.String(), e.Version}
}

func readExtension(o *object) State {
	return &Extension{
		ID:                required(o, "id", identifier),
		PhoneSystemID:     required(o, "phoneSystemId", identifier),
		Version:           readVersion(o),
		Number:            required(o, "number", indexed(text)),
		Name:              required(o, "name", text),
		Status:            required(o, "status", indexed(text)),
		CreatedAt:         required(o, "createdAt", instant),
		UpdatedAt:         required(o, "updatedAt", instant),
		AssignedPhoneIDs:  values(o, "assignedPhoneIds", identifier),
		UnansweredAction:  nested(o, "unansweredAction", readAction),
		VoicemailGreeting: nested(o, "voicemailGreeting", readPlayback),
	}
}
