package events

import "github.com/google/uuid"

// Voicemail is one message left by a caller.
type Voicemail struct {
	ID            uuid.UUID       `json:"id"`
	PhoneSystemID uuid.UUID       `json:"phoneSystemId"`
	Version       int64           `json:"version"`
	CallSid       string          `json:"callSid"`
	From          string          `json:"from"`
	FromName      Null[string]    `json:"fromName"`
	Duration      int64           `json:"duration"` // seconds
	ExtensionID   Null[uuid.UUID] `json:"extensionId"`
	CallGroupID   Null[uuid.UUID] `json:"callGroupId"`
	Listened      bool            `json:"listened"`
	Archived      bool            `json:"archived"`
	RecordingSid  string          `json:"recordingSid"`
	CreatedAt     Time            `json:"createdAt"`
}

// Identity implements [State].
func (v *Voicemail) Identity() Identity {
	return Identity{EntityVoicemail, v.PhoneSystemID, v.ID.String(), v.Version}
}

func readVoicemail(o *object) State {
	return &Voicemail{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		CallSid:       required(o, "callSid", indexed(name)),
		From:          required(o, "from", text),
		FromName:      nullable(o, "fromName", text),
		Duration:      required(o, "duration", seconds),
		ExtensionID:   nullable(o, "extensionId", identifier),
		CallGroupID:   nullable(o, "callGroupId", identifier),
		Listened:      required(o, "listened", boolean),
		Archived:      required(o, "archived", boolean),
		RecordingSid:  required(o, "recordingSid", recordingSid),
		CreatedAt:     required(o, "createdAt", instant),
	}
}
