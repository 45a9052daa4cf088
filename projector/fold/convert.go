package fold

import (
	"strings"

	"github.com/go-json-experiment/json"

	"callboard/events"
)

// The functions below return the row for the state of an event. Nested values become JSON text in the contract's form.

// phoneSystem keeps the version of the phone system's directory.
func (s *State) phoneSystem(p *events.PhoneSystem) PhoneSystem {
	before, _ := s.PhoneSystems.Get(p.ID)
	return PhoneSystem{
		ID: p.ID, Versioned: Versioned{p.Version}, Name: p.Name, OrganizationID: p.OrganizationID,
		Directory: before.Directory,
	}
}

func group(g *events.Group) Group {
	ids := make([]string, len(g.PhoneSystemIDs))
	for i, id := range g.PhoneSystemIDs {
		ids[i] = id.String()
	}
	return Group{ID: g.ID, Versioned: Versioned{g.Version}, Name: g.Name, PhoneSystemIDs: IDList(strings.Join(ids, ","))}
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
		Key:       Key{v.PhoneSystemID, v.ID},
		Versioned: Versioned{v.Version},

		CallSid:     v.CallSid,
		From:        v.From.Value,
		FromName:    v.FromName,
		Duration:    v.Duration,
		ExtensionID: v.ExtensionID,
		CallGroupID: v.CallGroupID,

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

// jsonMembers encodes an object with its members in order.
func jsonMembers(members []member) JSON {
	b := []byte("{")
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonText(m.name)...), ':')
		b = append(b, jsonText(m.value)...)
	}
	return JSON(append(b, '}'))
}

// jsonText panics where a value cannot be encoded. That does not happen: Decode refuses what JSON cannot represent.
func jsonText(value any) JSON {
	text, err := json.Marshal(value)
	if err != nil {
		panic("fold: encode a decoded value: " + err.Error())
	}
	return JSON(text)
}
