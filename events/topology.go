package events

import (
	"math"
	"strings"

	"github.com/google/uuid"
)

// PhoneSystem is one phone system, published to its own subject. Before its first event and after its deletion, nothing of the system
// is served.
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

func readPhoneSystem(o *object) State {
	return &PhoneSystem{
		ID:             required(o, "id", identifier),
		Version:        readVersion(o),
		Name:           required(o, "name", text),
		OrganizationID: nullable(o, "organizationId", identifier),
	}
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

func readGroup(o *object) State {
	return &Group{
		ID:             required(o, "id", identifier),
		Version:        readVersion(o),
		Name:           required(o, "name", text),
		PhoneSystemIDs: values(o, "phoneSystemIds", maxElements, identifier),
	}
}

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
		Number:            required(o, "number", text),
		Name:              required(o, "name", text),
		Status:            required(o, "status", text),
		CreatedAt:         required(o, "createdAt", instant),
		UpdatedAt:         required(o, "updatedAt", instant),
		AssignedPhoneIDs:  values(o, "assignedPhoneIds", maxElements, identifier),
		UnansweredAction:  nested(o, "unansweredAction", readAction),
		VoicemailGreeting: nested(o, "voicemailGreeting", readPlayback),
	}
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
	Slot          Null[int64]     `json:"slot"`
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

func readPhone(o *object) State {
	return &Phone{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		Name:          required(o, "name", text),
		Status:        required(o, "status", text),
		CreatedAt:     required(o, "createdAt", instant),
		UpdatedAt:     required(o, "updatedAt", instant),
		ExtensionID:   nullable(o, "extensionId", identifier),
		DeviceRole:    nullable(o, "deviceRole", text),
		ParentPhoneID: nullable(o, "parentPhoneId", identifier),
		Slot:          nullable(o, "slot", integer(math.MinInt32, math.MaxInt32)),
		MACAddress:    nullable(o, "macAddress", text),
		Firmware:      nullable(o, "firmware", text),
		Hardware:      requiredNested(o, "hardware", readHardware),
	}
}

func readHardware(o *object) Hardware {
	return Hardware{
		Manufacturer: nullable(o, "manufacturer", text),
		Model:        nullable(o, "model", text),
		SerialNumber: nullable(o, "serialNumber", text),
	}
}

// PhoneNumber is a public number of a phone system.
type PhoneNumber struct {
	ID            uuid.UUID    `json:"id"`
	PhoneSystemID uuid.UUID    `json:"phoneSystemId"`
	Version       int64        `json:"version"`
	PhoneNumber   string       `json:"phoneNumber"` // E.164
	Label         Null[string] `json:"label"`
	Status        string       `json:"status"`
	CreatedAt     Time         `json:"createdAt"`
	UpdatedAt     Time         `json:"updatedAt"`
	Origin        string       `json:"origin"`  // managed, carrier_hosted
	Country       Null[string] `json:"country"` // ISO 3166-1 alpha-2
	IsPrimary     bool         `json:"isPrimary"`
}

// Identity implements [State].
func (n *PhoneNumber) Identity() Identity {
	return Identity{EntityPhoneNumber, n.PhoneSystemID, n.ID.String(), n.Version}
}

func readPhoneNumber(o *object) State {
	return &PhoneNumber{
		ID:            required(o, "id", identifier),
		PhoneSystemID: required(o, "phoneSystemId", identifier),
		Version:       readVersion(o),
		PhoneNumber:   required(o, "phoneNumber", e164),
		Label:         nullable(o, "label", text),
		Status:        required(o, "status", text),
		CreatedAt:     required(o, "createdAt", instant),
		UpdatedAt:     required(o, "updatedAt", instant),
		Origin:        required(o, "origin", oneOf("managed", "carrier_hosted")),
		Country:       nullable(o, "country", country),
		IsPrimary:     required(o, "isPrimary", boolean),
	}
}

func e164(v value) (string, string) {
	return matching(isE164, "must be an E.164 number, such as +14155550123")(v)
}

func isE164(s string) bool {
	number, ok := strings.CutPrefix(s, "+")
	return ok && consists(number, 2, 15, isDigit) && number[0] != '0'
}

func country(v value) (string, string) {
	return matching(isCountry, "must be two capital letters (ISO 3166-1 alpha-2)")(v)
}

func isCountry(s string) bool { return consists(s, 2, 2, isCapital) }

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
