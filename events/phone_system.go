package events

import "github.com/google/uuid"

// PhoneSystem exists from its first event to its deletion; outside that everything under it is unknown.
// It is published to its own subject.
type PhoneSystem struct {
	ID             uuid.UUID       `json:"id"`
	Version        int64           `json:"version"`
	Name           string          `json:"name"`
	OrganizationID Null[uuid.UUID] `json:"organizationId"` // the organization it is directly attached to
}

// Identity implements [State].
func (s *PhoneSystem) Identity() Identity {
	return Identity{EntityPhoneSystem, s.ID, s.ID.String(), s.Version}
}

func readPhoneSystem(o *object) State {
	return &PhoneSystem{
		ID:             required(o, "id", identifier),
		Version:        readVersion(o),
		Name:           required(o, "name", text),
		OrganizationID: nullable(o, "organizationId", identifier),
	}
}
