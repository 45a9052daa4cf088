package sample

import (
	"encoding/hex"
	"strconv"
	"strings"

	"callboard/events"
)

// hardware is a kind of device with what is plugged into it or registered with it.
type hardware struct {
	manufacturer, model, firmware string
	role, attachedRole            string
	attachedModel                 string
}

func catalog() []hardware {
	return []hardware{
		{"Yealink", "T54W", "96.86.0.100", "desk", "expansion-module", "EXP50"},
		{"Yealink", "W70B", "146.85.0.37", "dect-base", "dect-handset", "W73H"},
		{"Poly", "Edge E350", "8.2.1.0305", "desk", "", ""},
		{"Poly", "VVX 450", "6.4.6.2494", "desk", "expansion-module", "VVX EM50"},
		{"Snom", "D785", "10.1.184.15", "desk", "", ""},
		{"Snom", "M900", "05.90.0001", "dect-base", "dect-handset", "M70"},
		{"Grandstream", "GXP2170", "1.0.11.79", "desk", "", ""},
		{"Cisco", "CP-8851", "14.2.1", "desk", "", ""},
	}
}

// installPhones gives most extensions a phone, some with an expansion module, and the shared ones a base with handsets.
func (s *system) installPhones(d *dice) {
	models := catalog()
	for _, x := range s.extensions {
		if d.chance(90) {
			continue // works with an app
		}
		kind := pick(d, models)
		phone := s.addPhone(d, x, kind.manufacturer, kind.model, kind.role)
		phone.Firmware = events.Some(kind.firmware)
		for slot := range s.attachments(d, kind) {
			attached := s.addPhone(d, x, kind.manufacturer, kind.attachedModel, kind.attachedRole)
			attached.ParentPhoneID = events.Some(phone.ID)
			attached.Slot = events.Some(int64(slot + 1))
			attached.Name += " " + strconv.Itoa(slot+1)
			if kind.attachedRole == "expansion-module" {
				attached.MACAddress = events.Null[string]{}
			}
		}
	}
}

func (s *system) attachments(d *dice, kind hardware) int {
	switch kind.attachedRole {
	case "dect-handset":
		return d.between(1, 3)
	case "expansion-module":
		return d.below(2)
	}
	return 0
}

func (s *system) addPhone(d *dice, x *extension, manufacturer, model, role string) *events.Phone {
	var mac [3]byte
	d.fill(mac[:])
	p := &events.Phone{
		ID: d.uuid(), PhoneSystemID: s.id, Version: 1, Name: x.Name + " " + model, Status: "active",
		CreatedAt: x.CreatedAt, UpdatedAt: x.UpdatedAt, ExtensionID: events.Some(x.ID), DeviceRole: events.Some(role),
		// 02 marks an address that no manufacturer owns.
		MACAddress: events.Some(address("020055" + hex.EncodeToString(mac[:]))),
		Hardware: events.Hardware{
			Manufacturer: events.Some(manufacturer), Model: events.Some(model),
			SerialNumber: events.Some(strings.ToUpper(d.sid("SN")[:14])),
		},
	}
	if d.chance(60) {
		p.Status = "unregistered"
	}
	s.phones = append(s.phones, p)
	x.AssignedPhoneIDs = append(x.AssignedPhoneIDs, p.ID)
	return p
}

// address puts colons between an address's bytes.
func address(digits string) string {
	var b strings.Builder
	for i := 0; i < len(digits); i += 2 {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(digits[i : i+2])
	}
	return b.String()
}

// connectNumbers gives the business its main number and a few more.
func (s *system) connectNumbers(d *dice) {
	labels := []string{"Main line", "Direct line", "Advertising", "Fax", "Old number"}
	first := d.below(s.exchange.size())
	for i := range d.between(2, len(labels)) {
		n := s.exchange.number(first + i*7)
		created := s.born + events.Time(i)*day
		p := &events.PhoneNumber{
			ID: d.uuid(), PhoneSystemID: s.id, Version: 1, PhoneNumber: n.e164, Label: events.Some(labels[i]), Status: "active",
			CreatedAt: created, UpdatedAt: created + hour, Origin: "managed", Country: events.Some(s.exchange.country), IsPrimary: i == 0,
		}
		if d.chance(250) {
			p.Origin = "carrier_hosted"
		}
		if labels[i] == "Old number" {
			p.Status = "released"
		}
		s.numbers, s.numbered = append(s.numbers, p), append(s.numbered, n)
	}
}
