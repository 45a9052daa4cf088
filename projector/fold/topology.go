package fold

import (
	"strconv"

	"github.com/google/uuid"

	"callboard/events"
)

// Topology is a row of topology: an extension, phone, phone number, agent config, call group or call menu. Beside the
// JSON that is served, it has what operations filter and sort by, and what reports and dimensions show.
type Topology struct {
	TopologyKey
	Versioned
	Status      string                 `db:"status"`
	CreatedAt   events.Time            `db:"created_at"`
	UpdatedAt   events.Time            `db:"updated_at"`
	Name        string                 `db:"name"`
	Number      events.Null[string]    `db:"number"`
	ExtensionID events.Null[uuid.UUID] `db:"extension_id"` // of a phone
	Row         JSON                   `db:"row"`          // of a list
	Detail      JSON                   `db:"detail"`
}

// TopologyKey is the identity of a row of topology. Kind is its entity.
type TopologyKey struct {
	System uuid.UUID     `db:"system_id"`
	Kind   events.Entity `db:"kind"`
	ID     uuid.UUID     `db:"id"`
}

func topologyKeyOf(id events.Identity) TopologyKey {
	return TopologyKey{id.System, id.Entity, idOf(id)}
}

func (r Topology) countKeys() []CountKey {
	return statusCountKeys(r.System, string(r.Kind), r.Status, r.CreatedAt)
}

func (r Topology) displayed() displayed {
	if !isReferredTo(r.Kind) {
		return displayed{}
	}
	return displayed{exists: true, name: r.Name, number: r.Number.Value}
}

// member is a member of a JSON object.
type member struct {
	name  string
	value any
}

// rendered returns the row with its identity and the JSON that is served. row are the kind's own members in a list,
// detail are the members that a detail adds.
func (r Topology) rendered(id events.Identity, row, detail []member) Topology {
	r.TopologyKey, r.Version = topologyKeyOf(id), id.Version
	members := append([]member{{"id", r.ID}, {"phoneSystemId", r.System}}, row...)
	members = append(members, member{"status", r.Status}, member{"createdAt", r.CreatedAt},
		member{"updatedAt", r.UpdatedAt})
	r.Row, r.Detail = jsonMembers(members), jsonMembers(append(members, detail...))
	return r
}

func extension(e *events.Extension) Topology {
	r := Topology{
		Status: e.Status, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		Name: e.Name, Number: events.Some(e.Number),
	}

	phones := make([]*events.Reference, len(e.AssignedPhoneIDs))
	for i, id := range e.AssignedPhoneIDs {
		phones[i] = reference(events.EntityPhone, e.PhoneSystemID, events.Some(id))
	}

	return r.rendered(e.Identity(), []member{{"name", e.Name}, {"number", e.Number}}, []member{
		{"assignedPhones", phones},
		{"unansweredAction", e.UnansweredAction},
		{"voicemailGreeting", e.VoicemailGreeting},
	})
}

func phone(p *events.Phone) Topology {
	r := Topology{
		Status: p.Status, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		Name: p.Name, ExtensionID: p.ExtensionID,
	}

	return r.rendered(p.Identity(), []member{{"name", p.Name}}, []member{
		{"hardware", p.Hardware},
		{"deviceRole", p.DeviceRole},
		{"parentPhone", reference(events.EntityPhone, p.PhoneSystemID, p.ParentPhoneID)},
		{"slot", p.Slot},
		{"macAddress", p.MACAddress},
		{"firmware", p.Firmware},
		{"extension", reference(events.EntityExtension, p.PhoneSystemID, p.ExtensionID)},
	})
}

func phoneNumber(n *events.PhoneNumber) Topology {
	r := Topology{
		Status: n.Status, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
		Name: n.Label.Value, Number: events.Some(n.PhoneNumber),
	}

	return r.rendered(n.Identity(), []member{{"phoneNumber", n.PhoneNumber}, {"label", n.Label}}, []member{
		{"origin", n.Origin},
		{"country", n.Country},
		{"isPrimary", n.IsPrimary},
	})
}

func agentConfig(a *events.AgentConfig) Topology {
	r := Topology{
		Status: a.Status, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
		Name: a.Name,
	}
	if a.AgentNumber.Valid {
		r.Number = events.Some(strconv.FormatInt(a.AgentNumber.Value, 10))
	}
	return r.rendered(a.Identity(), []member{{"name", a.Name}, {"agentNumber", a.AgentNumber}}, nil)
}

func callGroup(g *events.CallGroup) Topology {
	r := Topology{
		Status: g.Status, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
		Name: g.Name, Number: events.Some(g.Number),
	}

	return r.rendered(g.Identity(), []member{{"name", g.Name}, {"number", g.Number}}, []member{
		{"members", g.Members},
		{"ringPattern", g.RingPattern},
		{"unansweredAction", g.UnansweredAction},
		{"voicemailGreeting", g.VoicemailGreeting},
	})
}

func callMenu(m *events.CallMenu) Topology {
	r := Topology{
		Status: m.Status, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
		Name: m.Name,
	}

	return r.rendered(m.Identity(), []member{{"name", m.Name}}, []member{
		{"prompt", m.Prompt},
		{"choices", m.Choices},
		{"directExtensionDialing", m.DirectExtensionDialing},
		{"noInputAction", m.NoInputAction},
	})
}

// reference returns a typed reference within a phone system, or nil.
func reference(to events.Entity, system uuid.UUID, id events.Null[uuid.UUID]) *events.Reference {
	if !id.Valid {
		return nil
	}
	return &events.Reference{Type: string(to), ID: id.Value, PhoneSystemID: system}
}
