package events

import "github.com/google/uuid"

// Group is a phone system group with its current members. It belongs to no single system.
type Group struct {
	ID             uuid.UUID   `json:"id"`
	Version        int64       `json:"version"`
	Name           string      `json:"name"`
	PhoneSystemIDs []uuid.UUID `json:"phoneSystemIds"`
}

// Identity implements [State].
func (g *Group) Identity() Identity { return Identity{EntityGroup, uuid.Nil, g.ID.String(), g.Version} }

func readGroup(o *object) State {
	return &Group{
		ID:             required(o, "id", identifier),
		Version:        readVersion(o),
		Name:           required(o, "name", text),
		PhoneSystemIDs: values(o, "phoneSystemIds", identifier),
	}
}
