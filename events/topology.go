package events

import (
	"strings"

	"github.com/google/uuid"
)

// PhoneSystem is one phone system, published to its own subject. Before its first event and after its deletion,
// nothing of the system is served.
type PhoneSystem struct {
	ID             uuid.UUID       `json:"id"`
	Version        int64           `json:"version"`
	Name           string          `json:"name"`
	OrganizationID Null[uuid.UUID] `json:"organizationId"` // the organization to which it is directly attached
}

// Identity implements [State].
func (s *PhoneSystem) Identity() Identity {
	return Identity{EntityPhoneSystem, s.ID, s.ID.String(), s.Version}
}

// Group is a group of phone systems with its current members. It belongs to no single system.
type Group struct {
	ID             uuid.UUID   `json:"id"`
	Version        int64       `json:"version"`
	Name           string      `json:"name"`
	PhoneSystemIDs []uuid.UUID `json:"phoneSystemIds"`
}

// Identity implements [State].
func (g *Group) Identity() Identity { return Identity{EntityGroup, uuid.Nil, g.ID.String(), g.Version} }

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

// Phone is a device of a phone system.
type Phone struct {
	ID            uuid.UUID       `json:"id"`
	PhoneSystemID uuid.UUID       `json:"phoneSystemId"`
	Version       int64           `json:"version"`
	Name          string          `json:"name"`
	Status        string          `json:"status"`
	CreatedAt     Time            `json:"createdAt"`
	UpdatedAt     Time            `json:"updatedAt"`
	ExtensionID   Null[uuid.UUID] `json:"extensionId"`
	DeviceRole    Null[string]    `json:"deviceRole"`
	ParentPhoneID Null[uuid.UUID] `json:"parentPhoneId"`
	Slot          Null[int64]     `json:"slot" is:"int32"`
	MACAddress    Null[string]    `json:"macAddress"`
	Firmware      Null[string]    `json:"firmware"`
	Hardware      Hardware        `json:"hardware"`
}

// Hardware is a phone's hardware identity.
type Hardware struct {
	Manufacturer Null[string] `json:"manufacturer"`
	Model        Null[string] `json:"model"`
	SerialNumber Null[string] `json:"serialNumber"`
}

// Identity implements [State].
func (p *Phone) Identity() Identity {
	return Identity{EntityPhone, p.PhoneSystemID, p.ID.String(), p.Version}
}

// PhoneNumber is a public number of a phone system.
type PhoneNumber struct {
	ID            uuid.UUID    `json:"id"`
	PhoneSystemID uuid.UUID    `json:"phoneSystemId"`
	Version       int64        `json:"version"`
	PhoneNumber   string       `json:"phoneNumber" is:"e164"` // E.164
	Label         Null[string] `json:"label"`
	Status        string       `json:"status"`
	CreatedAt     Time         `json:"createdAt"`
	UpdatedAt     Time         `json:"updatedAt"`
	Origin        string       `json:"origin" is:"managed|carrier_hosted"`
	Country       Null[string] `json:"country" is:"country"` // ISO 3166-1 alpha-2
	IsPrimary     bool         `json:"isPrimary"`
}

// Identity implements [State].
func (n *PhoneNumber) Identity() Identity {
	return Identity{EntityPhoneNumber, n.PhoneSystemID, n.ID.String(), n.Version}
}

func isE164(s string) bool {
	number, ok := strings.CutPrefix(s, "+")
	return ok && consists(number, 2, 15, isDigit) && number[0] != '0'
}

func isCountry(s string) bool { return consists(s, 2, 2, isCapital) }

// AgentConfig is a Call Assistant routing identity.
type AgentConfig struct {
	ID            uuid.UUID   `json:"id"`
	PhoneSystemID uuid.UUID   `json:"phoneSystemId"`
	Version       int64       `json:"version"`
	Name          string      `json:"name"`
	AgentNumber   Null[int64] `json:"agentNumber" is:"1..9"`
	Status        string      `json:"status" is:"active|inactive|paused|archived|testing"`
	CreatedAt     Time        `json:"createdAt"`
	UpdatedAt     Time        `json:"updatedAt"`
}

// Identity implements [State].
func (a *AgentConfig) Identity() Identity {
	return Identity{EntityAgentConfig, a.PhoneSystemID, a.ID.String(), a.Version}
}
