package events

import "github.com/google/uuid"

// Representative is a person to whom calls are attributed.
type Representative struct {
	ID            uuid.UUID `json:"id"`
	PhoneSystemID uuid.UUID `json:"phoneSystemId"`
	Version       int64     `json:"version"`
	Name          string    `json:"name"`
	Status        string    `json:"status"`
	UpdatedAt     Time      `json:"updatedAt"`
}

// Identity implements [State].
func (r *Representative) Identity() Identity {
	return Identity{EntityRepresentative, r.PhoneSystemID, r.ID.String(), r.Version}
}

func readRepresentative(o *object) State {
	return &Representative{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		Name:          required(o, "name", text),
		Status:        required(o, "status", text),
		UpdatedAt:     required(o, "updatedAt", instant),
	}
}
