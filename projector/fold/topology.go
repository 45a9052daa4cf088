package fold

import (
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

func (s *State) phoneSystem(p *events.PhoneSystem) PhoneSystem {
	return PhoneSystem{ID: p.ID, Version: p.Version, Name: p.Name, OrganizationID: p.OrganizationID, Partition: s.Partition}
}

func group(g *events.Group) Group {
	ids := make([]string, len(g.PhoneSystemIDs))
	for i, id := range g.PhoneSystemIDs {
		ids[i] = id.String()
	}
	return Group{ID: g.ID, Version: g.Version, Name: g.Name, PhoneSystemIDs: strings.Join(ids, ",")}
}

func extension(e *events.Extension) Extension {
	return Extension{
		Key:               Key{e.PhoneSystemID, e.ID},
		Version:           e.Version,
		Number:            e.Number,
		Name:              e.Name,
		Status:            e.Status,
		CreatedAt:         e.CreatedAt,
		UpdatedAt:         e.UpdatedAt,
		AssignedPhones:    array(references("phone", e.PhoneSystemID, e.AssignedPhoneIDs)),
		UnansweredAction:  object(e.UnansweredAction),
		VoicemailGreeting: object(e.VoicemailGreeting),
	}
}

func callGroup(g *events.CallGroup) CallGroup {
	return CallGroup{
		Key:               Key{g.PhoneSystemID, g.ID},
		Version:           g.Version,
		Name:              g.Name,
		Number:            g.Number,
		Status:            g.Status,
		CreatedAt:         g.CreatedAt,
		UpdatedAt:         g.UpdatedAt,
		Members:           array(g.Members),
		RingPattern:       g.RingPattern,
		UnansweredAction:  object(g.UnansweredAction),
		VoicemailGreeting: object(g.VoicemailGreeting),
	}
}

func phone(p *events.Phone) Phone {
	return Phone{
		Key:           Key{p.PhoneSystemID, p.ID},
		Version:       p.Version,
		Name:          p.Name,
		Status:        p.Status,
		CreatedAt:     p.CreatedAt,
		UpdatedAt:     p.UpdatedAt,
		ExtensionID:   p.ExtensionID,
		DeviceRole:    p.DeviceRole,
		ParentPhoneID: p.ParentPhoneID,
		Slot:          p.Slot,
		MACAddress:    p.MACAddress,
		Firmware:      p.Firmware,
		Hardware:      jsonText(p.Hardware),
	}
}

func phoneNumber(n *events.PhoneNumber) PhoneNumber {
	return PhoneNumber{
		Key:         Key{n.PhoneSystemID, n.ID},
		Version:     n.Version,
		PhoneNumber: n.PhoneNumber,
		Label:       n.Label,
		Status:      n.Status,
		CreatedAt:   n.CreatedAt,
		UpdatedAt:   n.UpdatedAt,
		Origin:      n.Origin,
		Country:     n.Country,
		IsPrimary:   n.IsPrimary,
	}
}

func agentConfig(a *events.AgentConfig) AgentConfig {
	return AgentConfig{
		Key:         Key{a.PhoneSystemID, a.ID},
		Version:     a.Version,
		Name:        a.Name,
		AgentNumber: a.AgentNumber,
		Status:      a.Status,
		CreatedAt:   a.CreatedAt,
		UpdatedAt:   a.UpdatedAt,
	}
}

func callMenu(m *events.CallMenu) CallMenu {
	return CallMenu{
		Key:                    Key{m.PhoneSystemID, m.ID},
		Version:                m.Version,
		Name:                   m.Name,
		Status:                 m.Status,
		CreatedAt:              m.CreatedAt,
		UpdatedAt:              m.UpdatedAt,
		Prompt:                 object(m.Prompt),
		Choices:                array(m.Choices),
		DirectExtensionDialing: m.DirectExtensionDialing,
		NoInputAction:          object(m.NoInputAction),
	}
}

func references(kind string, system uuid.UUID, ids []uuid.UUID) []events.Reference {
	refs := make([]events.Reference, len(ids))
	for i, id := range ids {
		refs[i] = events.Reference{Type: kind, ID: id, PhoneSystemID: system}
	}
	return refs
}
