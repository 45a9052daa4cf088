package scenario_test

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

// topology is what the world has of one resource: the list's rows, newest first, and what the details add to them.
type topology struct {
	path  string
	rows  []fields
	added []fields
}

func (w *world) greeting() fields {
	return fields{"kind": "recorded", "url": "https://media.example/greeting.wav"}
}

func (w *world) to(kind string, id uuid.UUID) fields {
	return fields{"type": kind, "id": id, "phoneSystemId": w.harbour}
}

func (w *world) toVoicemail() fields {
	return fields{"type": "extension-voicemail", "reference": w.to("extension-voicemail", w.front), "literal": nil}
}

// row is a compact row. Created and updated are days.
func (w *world) row(id uuid.UUID, status string, created, updated int, names fields) fields {
	return fields{"id": id, "phoneSystemId": w.harbour, "status": status, "createdAt": day(created), "updatedAt": day(updated)}.and(names)
}

func (w *world) phones() topology {
	return topology{"/phones", []fields{
		w.row(w.handset, "inactive", 2, 2, fields{"name": "Handset"}),
		w.row(w.base, "active", 1, 1, fields{"name": "Base"}),
	}, []fields{
		{
			"hardware": fields{"manufacturer": nil, "model": nil, "serialNumber": nil}, "deviceRole": "handset", "parentPhone": w.to("phone", w.base),
			"slot": 1, "macAddress": nil, "firmware": nil, "extension": w.to("extension", w.front),
		},
		{
			"hardware":   fields{"manufacturer": "Yealink", "model": "W70B", "serialNumber": "8023"},
			"deviceRole": "base", "parentPhone": nil, "slot": nil, "macAddress": "00:15:65:12:34:56", "firmware": "146.85.0.20", "extension": nil,
		},
	}}
}

func (w *world) phoneNumbers() topology {
	return topology{"/phone-numbers", []fields{
		w.row(w.releasedNumber, "released", 2, 3, fields{"phoneNumber": "+14155550199", "label": nil}),
		w.row(w.mainNumber, "active", 1, 1, fields{"phoneNumber": "+14155550100", "label": "Main"}),
	}, []fields{
		{"origin": "carrier_hosted", "country": nil, "isPrimary": false},
		{"origin": "managed", "country": "US", "isPrimary": true},
	}}
}

func (w *world) extensions() topology {
	return topology{"/extensions", []fields{
		w.row(w.back, "inactive", 2, 2, fields{"name": "Back office", "number": "102"}),
		w.row(w.front, "active", 1, 2, fields{"name": "Front desk", "number": "101"}),
	}, []fields{
		{"assignedPhones": []any{}, "unansweredAction": nil, "voicemailGreeting": nil},
		{
			"assignedPhones":   []fields{w.to("phone", w.base), w.to("phone", w.handset)},
			"unansweredAction": w.toVoicemail(), "voicemailGreeting": w.greeting(),
		},
	}}
}

func (w *world) callGroups() topology {
	return topology{"/call-groups", []fields{w.row(w.desk, "active", 1, 1, fields{"name": "Reception", "number": "200"})}, []fields{{
		"members": []fields{w.to("extension", w.back), w.to("extension", w.front)}, "ringPattern": "sequential",
		"unansweredAction": w.toVoicemail(), "voicemailGreeting": w.greeting(),
	}}}
}

func (w *world) callMenus() topology {
	return topology{"/call-menus", []fields{w.row(w.menu, "active", 1, 1, fields{"name": "Welcome"})}, []fields{{
		"prompt": w.greeting(),
		"choices": []fields{
			{"digit": "2", "label": "Reception", "action": fields{"type": "call-group", "reference": w.to("call-group", w.desk), "literal": nil}},
			{"digit": "1", "label": nil, "action": fields{"type": "forward", "reference": nil, "literal": "+14155550111"}},
		},
		"directExtensionDialing": true, "noInputAction": fields{"type": "hangup", "reference": nil, "literal": nil},
	}}}
}

func compactRows(w *world) {
	for _, t := range []topology{w.phones(), w.phoneNumbers(), w.extensions(), w.callGroups(), w.callMenus()} {
		w.shows(w.key, w.home(t.path), "data", t.rows)
	}
}

// detailsAdd proves that details are the rows with what they add, and nothing else.
func detailsAdd(of func(*world) topology) func(*world) {
	return func(w *world) {
		t := of(w)
		for i, row := range t.rows {
			w.shows(w.key, w.home(t.path+"/"+row["id"].(uuid.UUID).String()), "", row.and(t.added[i]))
		}
	}
}

// piece is a resource of the topology in a lifecycle state, its number and name made of n.
func (o *office) piece(path, status, n string) events.Event {
	id, created := uuid.New(), day(1)
	return events.Changed(map[string]events.State{
		"/phones":        &events.Phone{ID: id, PhoneSystemID: o.system, Version: o.next(), Name: n, Status: status, CreatedAt: created},
		"/phone-numbers": &events.PhoneNumber{ID: id, PhoneSystemID: o.system, Version: o.next(), PhoneNumber: "+1" + n, Status: status, CreatedAt: created, Origin: "managed"},
		"/extensions":    &events.Extension{ID: id, PhoneSystemID: o.system, Version: o.next(), Number: n, Name: n, Status: status, CreatedAt: created},
		"/call-groups":   &events.CallGroup{ID: id, PhoneSystemID: o.system, Version: o.next(), Number: n, Name: n, Status: status, CreatedAt: created, RingPattern: "all"},
		"/call-menus":    &events.CallMenu{ID: id, PhoneSystemID: o.system, Version: o.next(), Name: n, Status: status, CreatedAt: created},
	}[path])
}

func topologyPaths() []string {
	return []string{"/phones", "/phone-numbers", "/extensions", "/call-groups", "/call-menus"}
}

// Whatever state a resource is in, the list holds it until it is deleted.
func everyLifecycleState(w *world) {
	o := w.office()
	states := []string{"active", "inactive", "released", "archived", "of a name to come"}
	for _, path := range topologyPaths() {
		var list []events.Event
		for i, status := range states {
			list = append(list, o.piece(path, status, strconv.Itoa(100+i)))
		}
		o.happen(list...)
		o.is(path, o.states(path), counted(states))
		o.happen(o.gone(list[1]))
		o.is(path, o.states(path), counted(append(states[:1:1], states[2:]...)))
	}
}

// states are how many rows of a list have which status.
func (o *office) states(path string) map[string]int {
	o.t.Helper()
	var all []string
	for _, status := range column(o.read(o.key, o.path(path))["data"], "status") {
		all = append(all, status.(string))
	}
	return counted(all)
}

func counted(values []string) map[string]int {
	counts := map[string]int{}
	for _, value := range values {
		counts[value]++
	}
	return counts
}

// A filter neither takes a part for the whole, nor one case for the other, nor a pattern for what it would match.
func exactFilters(w *world) {
	o := w.office()
	for _, path := range topologyPaths() {
		o.happen(o.piece(path, "active", "10"), o.piece(path, "active2", "101"), o.piece(path, "Active", "1"))
	}
	for _, f := range []struct{ path, filter, value string }{
		{"/phones", "status", "active"}, {"/phone-numbers", "status", "active"}, {"/extensions", "status", "active"},
		{"/call-groups", "status", "active"}, {"/call-menus", "status", "active"},
		{"/phone-numbers", "phoneNumber", "%2B110"}, {"/extensions", "number", "10"}, {"/call-groups", "number", "10"},
	} {
		for value, want := range map[string]int{f.value: 1, f.value[:len(f.value)-1] + "%25": 0, f.value + "%20": 0, strings.ToUpper(f.value) + "_": 0} {
			body := o.read(o.key, o.path(f.path+"?"+f.filter+"="+value))
			o.is(f.path+" "+f.filter+"="+value, body["total"], want)
			o.is("the rows", len(body["data"].([]any)), want)
			if want == 1 {
				name := cmp.Or(map[string]string{"phoneNumber": "phoneNumber", "number": "number"}[f.filter], "status")
				o.is("the row", at(body, "data.0."+name), strings.ReplaceAll(value, "%2B", "+"))
			}
		}
	}
}

// What is configured is shown as it is: nothing is followed, merged or worked out from it.
func onlyWhatIsConfigured(w *world) {
	detailsAdd((*world).extensions)(w)
	detailsAdd((*world).callGroups)(w)
	detailsAdd((*world).callMenus)(w)
	o, group := w.office(), uuid.New()
	path := o.path("/call-groups/" + group.String())
	state := &events.CallGroup{
		ID: group, PhoneSystemID: o.system, Version: o.next(), Name: "Sales", Number: "200", Status: "active", CreatedAt: day(1), UpdatedAt: day(1), RingPattern: "all",
		Members: []events.Reference{{Type: "extension", ID: o.call, PhoneSystemID: o.system}},
	}
	o.happen(events.Changed(state), o.extension(o.call, "Front", "active"))
	before := o.read(o.key, path)
	o.happen(o.extension(o.call, "Front", "inactive"), o.gone(o.extension(o.call, "", "")))
	o.shows(o.key, path, "", before)
}

// A playback has its URL wherever it stands, and null where it has none.
func playbackURLs(w *world) {
	o := w.office()
	for _, url := range []any{"https://media.example/a.wav?x=1&y=<2>", nil} {
		playback := &events.Playback{Kind: "recorded"}
		if text, ok := url.(string); ok {
			playback.URL = events.Some(text)
		}
		play := &events.Action{Type: "play-audio", Literal: playback.URL}
		o.happen(changed(
			&events.Extension{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Number: "1", Name: "E", Status: "active", VoicemailGreeting: playback, UnansweredAction: play},
			&events.CallGroup{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Number: "1", Name: "G", Status: "active", VoicemailGreeting: playback, RingPattern: "all"},
			&events.CallMenu{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: "M", Status: "active", Prompt: playback},
		)...)
		want := fields{"kind": "recorded", "url": url}
		o.shows(o.key, o.path("/extensions/"+o.call.String()), "voicemailGreeting", want)
		o.shows(o.key, o.path("/extensions/"+o.call.String()), "unansweredAction", fields{"type": "play-audio", "reference": nil, "literal": url})
		o.shows(o.key, o.path("/call-groups/"+o.call.String()), "voicemailGreeting", want)
		o.shows(o.key, o.path("/call-menus/"+o.call.String()), "prompt", want)
	}
}
