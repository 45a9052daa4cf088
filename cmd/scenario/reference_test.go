package scenario_test

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/readapi/access"
)

// choosing is a call menu of the office, which has its call's identifier, with a choice for each action.
func (o *office) choosing(actions ...events.Action) events.Event {
	m := &events.CallMenu{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: "Menu", Status: "active", CreatedAt: day(1), UpdatedAt: day(1)}
	for i, action := range actions {
		m.Choices = append(m.Choices, events.Choice{Digit: string(rune('0' + i)), Action: action})
	}
	return events.Changed(m)
}

func (o *office) menu() string { return o.path("/call-menus/" + o.call.String()) }

func action(kind string, id, system uuid.UUID) events.Action {
	return events.Action{Type: kind, Reference: &events.Reference{Type: kind, ID: id, PhoneSystemID: system}}
}

// reference is that of a menu's choice, of which the shape is proven too.
func (o *office) reference(key access.Key, choice, kind string, id, system uuid.UUID) {
	o.t.Helper()
	o.shows(key, o.menu(), "choices."+choice+".action", fields{
		"type": kind, "literal": nil, "reference": fields{"type": kind, "id": id, "phoneSystemId": system},
	})
}

// followed proves that references of these types lead to the resource that has their id, below this path.
func followed(path string, kinds ...string) func(*world) {
	return func(w *world) {
		o := w.office()
		piece := o.referred(path)
		id := uuid.MustParse(piece.Key)
		var actions []events.Action
		for _, kind := range kinds {
			actions = append(actions, action(kind, id, o.system))
		}
		o.happen(piece, o.choosing(actions...))
		for i, kind := range kinds {
			choice := string(rune('0' + i))
			o.reference(o.key, choice, kind, id, o.system)
			reference := at(o.read(o.key, o.menu()), "choices."+choice+".action.reference")
			o.shows(o.key, "/"+at(reference, "phoneSystemId").(string)+path+"/"+at(reference, "id").(string), "id", at(reference, "id"))
		}
	}
}

func (o *office) referred(path string) events.Event {
	if path == "/agent-configs" {
		return o.agentConfig(events.Null[int64]{}, "active")
	}
	return o.piece(path, "active", "300")
}

// referenceShapes are all references that the world's details have.
func referenceShapes(w *world) {
	front := w.read(w.key, w.home("/extensions/"+w.front.String()))
	w.is("an extension's phones", front["assignedPhones"], []fields{w.to("phone", w.base), w.to("phone", w.handset)})
	w.is("an action's target", at(front, "unansweredAction.reference"), w.to("extension-voicemail", w.front))
	w.shows(w.key, w.home("/call-groups/"+w.desk.String()), "members", []fields{w.to("extension", w.back), w.to("extension", w.front)})
	w.shows(w.key, w.home("/call-menus/"+w.menu.String()), "choices.0.action.reference", w.to("call-group", w.desk))
	handset := w.read(w.key, w.home("/phones/"+w.handset.String()))
	w.is("a phone's parent", handset["parentPhone"], w.to("phone", w.base))
	w.is("a phone's extension", handset["extension"], w.to("extension", w.front))
}

func literals(w *world) {
	o := w.office()
	kinds := []string{"forward", "play-audio", "voicemail", "directory", "messaging", "hangup"}
	var actions []events.Action
	for i, kind := range kinds {
		a := events.Action{Type: kind}
		if i < 3 {
			a.Literal = events.Some("literal of " + kind)
		}
		actions = append(actions, a)
	}
	o.happen(o.choosing(actions...))
	for i, kind := range kinds {
		want := fields{"type": kind, "reference": nil, "literal": nil}
		if i < 3 {
			want["literal"] = "literal of " + kind
		}
		o.shows(o.key, o.menu(), "choices."+string(rune('0'+i))+".action", want)
	}
}

// A menu refers to an extension of another phone system. It is there, under its own system's path and no other.
func acrossSystems(w *world) {
	o, neighbour := w.office(), w.office()
	target := neighbour.extension(uuid.New(), "Elsewhere", "active")
	group := uuid.New()
	id := uuid.MustParse(target.Key)
	o.happen(target, o.choosing(action("extension", id, neighbour.system)),
		events.Changed(&events.Group{ID: group, Version: 1, Name: "G", PhoneSystemIDs: []uuid.UUID{o.system, neighbour.system}}))
	key := w.stage.key(access.Request{Grant: access.Grant{Kind: access.GrantGroup, ID: group}})
	o.reference(key, "0", "extension", id, neighbour.system)
	o.shows(key, neighbour.path("/extensions/"+id.String()), "name", "Elsewhere")
	o.is("under the menu's system", o.get(key, o.path("/extensions/"+id.String())).status, http.StatusNotFound)
}

// What a reference names need not be there, before or after.
func unchecked(w *world) {
	o, id := w.office(), uuid.New()
	o.happen(o.choosing(action("extension", id, o.system)))
	o.reference(o.key, "0", "extension", id, o.system)
	e := o.extension(id, "Late", "active")
	o.happen(e, o.gone(e))
	o.reference(o.key, "0", "extension", id, o.system)
	phone := &events.Phone{ID: id, PhoneSystemID: o.system, Version: o.next(), Name: "P", Status: "active", ParentPhoneID: events.Some(o.call), ExtensionID: events.Some(o.system)}
	o.happen(events.Changed(phone))
	detail := o.path("/phones/" + id.String())
	o.shows(o.key, detail, "parentPhone", fields{"type": "phone", "id": o.call, "phoneSystemId": o.system})
	o.shows(o.key, detail, "extension", fields{"type": "extension", "id": o.system, "phoneSystemId": o.system})
}

// Nothing tells apart why a reference can't be followed.
func oneNotFoundToFollow(w *world) {
	o, stranger := w.office(), w.office()
	here, gone, theirs := o.extension(uuid.New(), "H", "active"), o.extension(uuid.New(), "G", "active"), stranger.extension(uuid.New(), "S", "active")
	o.happen(here, gone, theirs, o.gone(gone))
	o.read(o.key, o.path("/extensions/"+here.Key))
	never := o.get(o.key, o.path("/extensions/"+uuid.NewString()))
	o.holds("what never was", never.body, fields{"status": 404, "retryable": false})
	for what, path := range map[string]string{
		"deleted":                           o.path("/extensions/" + gone.Key),
		"out of the grant":                  stranger.path("/extensions/" + theirs.Key),
		"another tenant's, looked for here": o.path("/extensions/" + theirs.Key),
		"of another type":                   o.path("/call-groups/" + here.Key),
		"in upper case":                     o.path("/extensions/" + strings.ToUpper(gone.Key)),
	} {
		o.alike(what, o.get(o.key, path), never)
	}
}
