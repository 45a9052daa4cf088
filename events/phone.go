package events

import (
	"math"

	"github.com/google/uuid"
)

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
		Status:        required(o, "status", indexed(text)),
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
