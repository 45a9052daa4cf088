package fold

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"callboard/events"
)

// The functions below return the row for the state of an event. Nested values become JSON text in the contract's form.

func phoneSystem(p *events.PhoneSystem) PhoneSystem {
	return PhoneSystem{ID: p.ID, Versioned: Versioned{p.Version}, Name: p.Name, OrganizationID: p.OrganizationID}
}

func group(g *events.Group) Group {
	ids := make([]string, len(g.PhoneSystemIDs))
	for i, id := range g.PhoneSystemIDs {
		ids[i] = id.String()
	}
	return Group{ID: g.ID, Versioned: Versioned{g.Version}, Name: g.Name, PhoneSystemIDs: IDList(strings.Join(ids, ","))}
}

func extension(e *events.Extension) Extension {
	return Extension{
		Key:               Key{e.PhoneSystemID, e.ID},
		Versioned:         Versioned{e.Version},
		Number:            e.Number,
		Name:              e.Name,
		Status:            e.Status,
		CreatedAt:         e.CreatedAt,
		UpdatedAt:         e.UpdatedAt,
		AssignedPhones:    jsonArray(references("phone", e.PhoneSystemID, e.AssignedPhoneIDs)),
		UnansweredAction:  jsonObject(e.UnansweredAction),
		VoicemailGreeting: jsonObject(e.VoicemailGreeting),
	}
}

func callGroup(g *events.CallGroup) CallGroup {
	return CallGroup{
		Key:               Key{g.PhoneSystemID, g.ID},
		Versioned:         Versioned{g.Version},
		Name:              g.Name,
		Number:            g.Number,
		Status:            g.Status,
		CreatedAt:         g.CreatedAt,
		UpdatedAt:         g.UpdatedAt,
		Members:           jsonArray(g.Members),
		RingPattern:       g.RingPattern,
		UnansweredAction:  jsonObject(g.UnansweredAction),
		VoicemailGreeting: jsonObject(g.VoicemailGreeting),
	}
}

func phone(p *events.Phone) Phone {
	return Phone{
		Key:           Key{p.PhoneSystemID, p.ID},
		Versioned:     Versioned{p.Version},
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
		Versioned:   Versioned{n.Version},
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
		Versioned:   Versioned{a.Version},
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
		Versioned:              Versioned{m.Version},
		Name:                   m.Name,
		Status:                 m.Status,
		CreatedAt:              m.CreatedAt,
		UpdatedAt:              m.UpdatedAt,
		Prompt:                 jsonObject(m.Prompt),
		Choices:                jsonArray(m.Choices),
		DirectExtensionDialing: m.DirectExtensionDialing,
		NoInputAction:          jsonObject(m.NoInputAction),
	}
}

func references(kind string, system uuid.UUID, ids []uuid.UUID) []events.Reference {
	refs := make([]events.Reference, len(ids))
	for i, id := range ids {
		refs[i] = events.Reference{Type: kind, ID: id, PhoneSystemID: system}
	}
	return refs
}

func classification(c *events.Classification) Classification {
	return Classification{
		ClassificationKey: ClassificationKey{c.PhoneSystemID.Value, c.Kind, c.Code},
		Versioned:         Versioned{c.Version},
		Label:             c.Label,
		Status:            c.Status,
		Score:             c.Score,
		UpdatedAt:         c.UpdatedAt,
	}
}

func representative(r *events.Representative) Representative {
	return Representative{
		Key:       Key{r.PhoneSystemID, r.ID},
		Versioned: Versioned{r.Version},
		Name:      r.Name,
		Status:    r.Status,
		UpdatedAt: r.UpdatedAt,
	}
}

func voicemail(v *events.Voicemail) Voicemail {
	return Voicemail{
		Key:          Key{v.PhoneSystemID, v.ID},
		Versioned:    Versioned{v.Version},
		CallSid:      v.CallSid,
		From:         v.From.Value,
		FromName:     v.FromName,
		Duration:     v.Duration,
		ExtensionID:  v.ExtensionID,
		CallGroupID:  v.CallGroupID,
		Listened:     v.Listened,
		Archived:     v.Archived,
		RecordingSid: v.RecordingSid,
		CreatedAt:    v.CreatedAt,
	}
}

// jsonArray encodes a list as JSON text in the contract's form; an empty list is "[]".
func jsonArray[T any](list []T) JSON {
	if len(list) == 0 {
		return "[]"
	}
	return jsonText(list)
}

// jsonObject encodes a value as JSON text in the contract's form, or null.
func jsonObject[T any](value *T) events.Null[JSON] {
	if value == nil {
		return events.Null[JSON]{}
	}
	return events.Some(jsonText(value))
}

// jsonText panics where a value cannot be encoded. That does not happen: Decode refuses what JSON cannot represent.
func jsonText(value any) JSON {
	text, err := json.Marshal(value)
	if err != nil {
		panic("fold: encode a decoded value: " + err.Error())
	}
	return JSON(text)
}
