package scenario_test

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// menuWithChoices returns the event of a call menu with a choice for each action. Its identifier is the call's.
func (o *ownSystem) menuWithChoices(actions ...events.Action) events.Event {
	m := &events.CallMenu{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: "Menu", Status: "active", CreatedAt: day(1), UpdatedAt: day(1)}
	for i, action := range actions {
		m.Choices = append(m.Choices, events.Choice{Digit: string(rune('0' + i)), Action: action})
	}
	return events.Changed(m)
}

func (o *ownSystem) menu() string { return o.path("/call-menus/" + o.call.String()) }

func action(kind string, id, system uuid.UUID) events.Action {
	return events.Action{Type: kind, Reference: &events.Reference{Type: kind, ID: id, PhoneSystemID: system}}
}

// expectReference checks the action of a menu's choice.
func (o *ownSystem) expectReference(key access.Key, choice, kind string, id, system uuid.UUID) {
	o.Helper()
	o.expectJSON(key, o.menu(), "choices."+choice+".action", fields{
		"type": kind, "literal": nil, "reference": fields{"type": kind, "id": id, "phoneSystemId": system},
	})
}

// followed checks that references of these types are followed below a path.
func followed(path string, kinds ...string) func(*fixture) {
	return func(f *fixture) {
		o := f.ownSystem()
		target := o.referenceTarget(path)
		id := uuid.MustParse(target.Key)
		var actions []events.Action
		for _, kind := range kinds {
			actions = append(actions, action(kind, id, o.system))
		}
		o.apply(target, o.menuWithChoices(actions...))
		for i, kind := range kinds {
			choice := string(rune('0' + i))
			o.expectReference(o.key, choice, kind, id, o.system)
			reference := jsonAt(o.mustGet(o.key, o.menu()), "choices."+choice+".action.reference")
			o.expectJSON(o.key, "/"+jsonAt(reference, "phoneSystemId").(string)+path+"/"+jsonAt(reference, "id").(string), "id", jsonAt(reference, "id"))
		}
	}
}

func (o *ownSystem) referenceTarget(path string) events.Event {
	if path == "/agent-configs" {
		return o.agentConfig(events.Null[int64]{}, "active")
	}
	return o.topologyEntity(path, "active", "300")
}

// referenceShapes compares all references in the harbour's details.
func referenceShapes(f *fixture) {
	front := f.mustGet(f.key, f.harbourPath("/extensions/"+f.front.String()))
	f.equalJSON("an extension's phones", front["assignedPhones"], []fields{f.to("phone", f.base), f.to("phone", f.handset)})
	f.equalJSON("an action's target", jsonAt(front, "unansweredAction.reference"), f.to("extension-voicemail", f.front))
	f.expectJSON(f.key, f.harbourPath("/call-groups/"+f.desk.String()), "members", []fields{f.to("extension", f.back), f.to("extension", f.front)})
	f.expectJSON(f.key, f.harbourPath("/call-menus/"+f.menu.String()), "choices.0.action.reference", f.to("call-group", f.desk))
	handset := f.mustGet(f.key, f.harbourPath("/phones/"+f.handset.String()))
	f.equalJSON("a phone's parent", handset["parentPhone"], f.to("phone", f.base))
	f.equalJSON("a phone's extension", handset["extension"], f.to("extension", f.front))
}

func literals(f *fixture) {
	o := f.ownSystem()
	kinds := []string{"forward", "play-audio", "voicemail", "directory", "messaging", "hangup"}
	var actions []events.Action
	for i, kind := range kinds {
		a := events.Action{Type: kind}
		if i < 3 {
			a.Literal = events.Some("literal of " + kind)
		}
		actions = append(actions, a)
	}
	o.apply(o.menuWithChoices(actions...))
	for i, kind := range kinds {
		want := fields{"type": kind, "reference": nil, "literal": nil}
		if i < 3 {
			want["literal"] = "literal of " + kind
		}
		o.expectJSON(o.key, o.menu(), "choices."+string(rune('0'+i))+".action", want)
	}
}

// acrossSystems follows a reference to an extension of another phone system.
func acrossSystems(f *fixture) {
	o, other := f.ownSystem(), f.ownSystem()
	target := other.extension(uuid.New(), "Elsewhere", "active")
	group := uuid.New()
	id := uuid.MustParse(target.Key)
	o.apply(target, o.menuWithChoices(action("extension", id, other.system)),
		events.Changed(&events.Group{ID: group, Version: 1, Name: "G", PhoneSystemIDs: []uuid.UUID{o.system, other.system}}))
	key := f.issueKey(access.KeySpec{Grant: access.Grant{Kind: access.GrantGroup, ID: group}})
	o.expectReference(key, "0", "extension", id, other.system)
	o.expectJSON(key, other.path("/extensions/"+id.String()), "name", "Elsewhere")
	o.equalJSON("under the menu's system", o.get(key, o.path("/extensions/"+id.String())).status, http.StatusNotFound)
}

// unchecked reads references to entities that don't exist.
func unchecked(f *fixture) {
	o, id := f.ownSystem(), uuid.New()
	o.apply(o.menuWithChoices(action("extension", id, o.system)))
	o.expectReference(o.key, "0", "extension", id, o.system)
	e := o.extension(id, "Late", "active")
	o.apply(e, o.deletion(e))
	o.expectReference(o.key, "0", "extension", id, o.system)
	phone := &events.Phone{ID: id, PhoneSystemID: o.system, Version: o.next(), Name: "P", Status: "active", ParentPhoneID: events.Some(o.call), ExtensionID: events.Some(o.system)}
	o.apply(events.Changed(phone))
	detail := o.path("/phones/" + id.String())
	o.expectJSON(o.key, detail, "parentPhone", fields{"type": "phone", "id": o.call, "phoneSystemId": o.system})
	o.expectJSON(o.key, detail, "extension", fields{"type": "extension", "id": o.system, "phoneSystemId": o.system})
}

// oneNotFoundToFollow checks that all references that can't be followed have the same answer.
func oneNotFoundToFollow(f *fixture) {
	o, other := f.ownSystem(), f.ownSystem()
	present, gone, foreign := o.extension(uuid.New(), "H", "active"), o.extension(uuid.New(), "G", "active"), other.extension(uuid.New(), "S", "active")
	o.apply(present, gone, foreign, o.deletion(gone))
	o.mustGet(o.key, o.path("/extensions/"+present.Key))
	unknown := o.get(o.key, o.path("/extensions/"+uuid.NewString()))
	o.equalMembers("of an unknown extension", unknown.body, fields{"status": 404, "retryable": false})
	for what, path := range map[string]string{
		"deleted":                           o.path("/extensions/" + gone.Key),
		"outside the grant":                 other.path("/extensions/" + foreign.Key),
		"of another tenant, in this system": o.path("/extensions/" + foreign.Key),
		"of another type":                   o.path("/call-groups/" + present.Key),
		"in upper case":                     o.path("/extensions/" + strings.ToUpper(gone.Key)),
	} {
		o.equalNotFound(what, o.get(o.key, path), unknown)
	}
}
