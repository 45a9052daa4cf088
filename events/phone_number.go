package events

import (
	"regexp"

	"github.com/google/uuid"
)

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
		Status:        required(o, "status", indexed(text)),
		CreatedAt:     required(o, "createdAt", instant),
		UpdatedAt:     required(o, "updatedAt", instant),
		Origin:        required(o, "origin", oneOf("managed", "carrier_hosted")),
		Country:       nullable(o, "country", country),
		IsPrimary:     required(o, "isPrimary", boolean),
	}
}

var (
	e164Shape    = regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`)
	countryShape = regexp.MustCompile(`^[A-Z]{2}$`)
)

func e164(v value) (string, string) {
	return matching(e164Shape, "must be an E.164 number, such as +14155550123")(v)
}

func country(v value) (string, string) {
	return matching(countryShape, "must be two capital letters (ISO 3166-1 alpha-2)")(v)
}
