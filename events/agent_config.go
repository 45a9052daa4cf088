package events

import "github.com/google/uuid"

// AgentConfig is a Call Assistant routing identity.
type AgentConfig struct {
	ID            uuid.UUID   `json:"id"`
	PhoneSystemID uuid.UUID   `json:"phoneSystemId"`
	Version       int64       `json:"version"`
	Name          string      `json:"name"`
	AgentNumber   Null[int64] `json:"agentNumber"` // 1 to 9
	Status        string      `json:"status"`      // active, inactive, paused, archived, testing
	CreatedAt     Time        `json:"createdAt"`
	UpdatedAt     Time        `json:"updatedAt"`
}

// Identity implements [State].
func (a *AgentConfig) Identity() Identity {
	return Identity{EntityAgentConfig, a.PhoneSystemID, a.ID.String(), a.Version}
}

func readAgentConfig(o *object) State {
	return &AgentConfig{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		Name:          required(o, "name", text),
		AgentNumber:   nullable(o, "agentNumber", integer(1, 9)),
		Status:        required(o, "status", oneOf("active", "inactive", "paused", "archived", "testing")),
		CreatedAt:     required(o, "createdAt", instant),
		UpdatedAt:     required(o, "updatedAt", instant),
	}
}
