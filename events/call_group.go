package events

import "github.com/google/uuid"

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
		Number:            required(o, "number", indexed(text)),
		Status:            required(o, "status", indexed(text)),
		CreatedAt:         required(o, "createdAt", instant),
		UpdatedAt:         required(o, "updatedAt", instant),
		Members:           list(o, "members", readReference),
		RingPattern:       required(o, "ringPattern", text),
		UnansweredAction:  nested(o, "unansweredAction", readAction),
		VoicemailGreeting: nested(o, "voicemailGreeting", readPlayback),
	}
}
