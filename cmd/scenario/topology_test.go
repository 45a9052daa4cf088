package scenario_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

func agentConfigRows(f *fixture) {
	row := func(id uuid.UUID, name string, number any, status string, created int) fields {
		return fields{
			"id": id, "phoneSystemId": f.harbour, "name": name, "agentNumber": number, "status": status, "createdAt": day(created), "updatedAt": day(created),
		}
	}
	f.expectJSON(f.key, f.harbourPath("/agent-configs"), "data", []fields{row(f.spare, "Spare", nil, "testing", 2), row(f.ava, "Ava", 3, "active", 1)})
}

func agentConfigDetails(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/agent-configs"))["data"].([]any)
	f.equalJSON("the ids", column(rows, "id"), []any{f.spare, f.ava})
	for _, row := range rows {
		f.expectJSON(f.key, f.harbourPath("/agent-configs/"+jsonAt(row, "id").(string)), "", row)
	}
}

func (o *ownSystem) agentConfig(number events.Null[int64], status string) events.Event {
	return events.Changed(&events.AgentConfig{
		ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: "Ava", AgentNumber: number, Status: status, CreatedAt: day(1), UpdatedAt: day(2),
	})
}

// refusesAgentConfig checks that an event with another value of a member changes nothing.
func (o *ownSystem) refusesAgentConfig(e events.Event, old, replacement, member string, want any) {
	o.Helper()
	o.applyEdited(e, old, replacement)
	o.expectJSON(o.key, o.path("/agent-configs/"+o.call.String()), member, want)
}

func agentConfigNumbers(f *fixture) {
	o := f.ownSystem()
	path := o.path("/agent-configs/" + o.call.String())
	o.apply(o.agentConfig(events.Null[int64]{}, "active"))
	o.expectJSON(o.key, path, "agentNumber", nil)
	for _, n := range []int64{1, 9} {
		o.apply(o.agentConfig(events.Some(n), "active"))
		o.expectJSON(o.key, path, "agentNumber", n)
	}
	for _, other := range []string{"0", "10", "1.5"} {
		o.refusesAgentConfig(o.agentConfig(events.Some[int64](1), "active"), `"agentNumber":1`, `"agentNumber":`+other, "agentNumber", 9)
	}
}

func agentConfigStates(f *fixture) {
	o := f.ownSystem()
	for _, status := range []string{"active", "inactive", "paused", "archived", "testing"} {
		o.apply(o.agentConfig(events.Null[int64]{}, status))
		o.expectJSON(o.key, o.path("/agent-configs/"+o.call.String()), "status", status)
		o.expectJSON(o.key, o.path("/agent-configs?status="+status), "total", 1)
	}
	o.refusesAgentConfig(o.agentConfig(events.Null[int64]{}, "active"), `"active"`, `"deleted"`, "status", "testing")
}

// agentSecrets checks that members which are not in the contract are not served.
func agentSecrets(f *fixture) {
	o := f.ownSystem()
	for i, member := range []string{"prompt", "systemPrompt", "model", "credentials", "apiKey"} {
		name := fmt.Sprint("Ava ", i)
		e := o.agentConfig(events.Null[int64]{}, "active")
		o.applyEdited(e, `"name":"Ava"`, fmt.Sprintf(`"name":%q,%q:"secret"`, name, member))
		want := fields{
			"id": o.call, "phoneSystemId": o.system, "name": name, "agentNumber": nil, "status": "active", "createdAt": day(1), "updatedAt": day(2),
		}
		o.expectJSON(o.key, o.path("/agent-configs"), "data", []fields{want})
		o.expectJSON(o.key, o.path("/agent-configs/"+o.call.String()), "", want)
	}
}

// topology holds the rows of a list in the harbour, newest first, and the members that details add to them.
type topology struct {
	path  string
	rows  []fields
	added []fields
}

func (f *fixture) greeting() fields {
	return fields{"kind": "recorded", "url": "https://media.example/greeting.wav"}
}

func (f *fixture) to(kind string, id uuid.UUID) fields {
	return fields{"type": kind, "id": id, "phoneSystemId": f.harbour}
}

func (f *fixture) toVoicemail() fields {
	return fields{"type": "extension-voicemail", "reference": f.to("extension-voicemail", f.front), "literal": nil}
}

// row returns a row of a list. created and updated are days of March 2026.
func (f *fixture) row(id uuid.UUID, status string, created, updated int, names fields) fields {
	return fields{"id": id, "phoneSystemId": f.harbour, "status": status, "createdAt": day(created), "updatedAt": day(updated)}.and(names)
}

func (f *fixture) phones() topology {
	return topology{"/phones", []fields{
		f.row(f.handset, "inactive", 2, 2, fields{"name": "Handset"}),
		f.row(f.base, "active", 1, 1, fields{"name": "Base"}),
	}, []fields{
		{
			"hardware": fields{"manufacturer": nil, "model": nil, "serialNumber": nil}, "deviceRole": "handset", "parentPhone": f.to("phone", f.base),
			"slot": 1, "macAddress": nil, "firmware": nil, "extension": f.to("extension", f.front),
		},
		{
			"hardware":   fields{"manufacturer": "Yealink", "model": "W70B", "serialNumber": "8023"},
			"deviceRole": "base", "parentPhone": nil, "slot": nil, "macAddress": "00:15:65:12:34:56", "firmware": "146.85.0.20", "extension": nil,
		},
	}}
}

func (f *fixture) phoneNumbers() topology {
	return topology{"/phone-numbers", []fields{
		f.row(f.releasedNumber, "released", 2, 3, fields{"phoneNumber": "+14155550199", "label": nil}),
		f.row(f.mainNumber, "active", 1, 1, fields{"phoneNumber": "+14155550100", "label": "Main"}),
	}, []fields{
		{"origin": "carrier_hosted", "country": nil, "isPrimary": false},
		{"origin": "managed", "country": "US", "isPrimary": true},
	}}
}

func (f *fixture) extensions() topology {
	return topology{"/extensions", []fields{
		f.row(f.back, "inactive", 2, 2, fields{"name": "Back office", "number": "102"}),
		f.row(f.front, "active", 1, 2, fields{"name": "Front desk", "number": "101"}),
	}, []fields{
		{"assignedPhones": []any{}, "unansweredAction": nil, "voicemailGreeting": nil},
		{
			"assignedPhones":   []fields{f.to("phone", f.base), f.to("phone", f.handset)},
			"unansweredAction": f.toVoicemail(), "voicemailGreeting": f.greeting(),
		},
	}}
}

func (f *fixture) callGroups() topology {
	return topology{"/call-groups", []fields{f.row(f.desk, "active", 1, 1, fields{"name": "Reception", "number": "200"})}, []fields{{
		"members": []fields{f.to("extension", f.back), f.to("extension", f.front)}, "ringPattern": "sequential",
		"unansweredAction": f.toVoicemail(), "voicemailGreeting": f.greeting(),
	}}}
}

func (f *fixture) callMenus() topology {
	return topology{"/call-menus", []fields{f.row(f.menu, "active", 1, 1, fields{"name": "Welcome"})}, []fields{{
		"prompt": f.greeting(),
		"choices": []fields{
			{"digit": "2", "label": "Reception", "action": fields{"type": "call-group", "reference": f.to("call-group", f.desk), "literal": nil}},
			{"digit": "1", "label": nil, "action": fields{"type": "forward", "reference": nil, "literal": "+14155550111"}},
		},
		"directExtensionDialing": true, "noInputAction": fields{"type": "hangup", "reference": nil, "literal": nil},
	}}}
}

func compactRows(f *fixture) {
	for _, t := range []topology{f.phones(), f.phoneNumbers(), f.extensions(), f.callGroups(), f.callMenus()} {
		f.expectJSON(f.key, f.harbourPath(t.path), "data", t.rows)
	}
}

// detailsAdd compares details with the rows and the members that they add.
func detailsAdd(of func(*fixture) topology) func(*fixture) {
	return func(f *fixture) {
		t := of(f)
		for i, row := range t.rows {
			f.expectJSON(f.key, f.harbourPath(t.path+"/"+row["id"].(uuid.UUID).String()), "", row.and(t.added[i]))
		}
	}
}

// topologyEntity returns the event of an entity with a status. Its number and its name are n.
func (o *ownSystem) topologyEntity(path, status, n string) events.Event {
	id, created := uuid.New(), day(1)
	return events.Changed(map[string]events.State{
		"/phones":        &events.Phone{ID: id, PhoneSystemID: o.system, Version: o.next(), Name: n, Status: status, CreatedAt: created},
		"/phone-numbers": &events.PhoneNumber{ID: id, PhoneSystemID: o.system, Version: o.next(), PhoneNumber: "+1" + n, Status: status, CreatedAt: created, Origin: "managed"},
		"/extensions":    &events.Extension{ID: id, PhoneSystemID: o.system, Version: o.next(), Number: n, Name: n, Status: status, CreatedAt: created},
		"/call-groups":   &events.CallGroup{ID: id, PhoneSystemID: o.system, Version: o.next(), Number: n, Name: n, Status: status, CreatedAt: created, RingPattern: "all"},
		"/call-menus":    &events.CallMenu{ID: id, PhoneSystemID: o.system, Version: o.next(), Name: n, Status: status, CreatedAt: created},
	}[path])
}

func topologyLists() []string {
	return []string{"/phones", "/phone-numbers", "/extensions", "/call-groups", "/call-menus"}
}

// everyLifecycleState checks that lists have entities with every status, until they are deleted.
func everyLifecycleState(f *fixture) {
	o := f.ownSystem()
	states := []string{"active", "inactive", "released", "archived", "future"}
	for _, path := range topologyLists() {
		var list []events.Event
		for i, status := range states {
			list = append(list, o.topologyEntity(path, status, strconv.Itoa(100+i)))
		}
		o.apply(list...)
		o.equalJSON(path, o.statusCounts(path), counted(states))
		o.apply(o.deletion(list[1]))
		o.equalJSON(path, o.statusCounts(path), counted(append(states[:1:1], states[2:]...)))
	}
}

// statusCounts returns the number of rows of a list by status.
func (o *ownSystem) statusCounts(path string) map[string]int {
	o.Helper()
	var all []string
	for _, status := range column(o.mustGet(o.key, o.path(path))["data"], "status") {
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

// exactFilters checks that filters match neither prefixes, nor other cases, nor patterns, and that a + which is a space is refused.
func exactFilters(f *fixture) {
	o := f.ownSystem()
	for _, path := range topologyLists() {
		o.apply(o.topologyEntity(path, "active", "10"), o.topologyEntity(path, "active2", "101"), o.topologyEntity(path, "Active", "1"))
	}
	for _, f := range []struct{ path, filter, value string }{
		{"/phones", "status", "active"}, {"/phone-numbers", "status", "active"}, {"/extensions", "status", "active"},
		{"/call-groups", "status", "active"}, {"/call-menus", "status", "active"},
		{"/phone-numbers", "phoneNumber", "%2B110"}, {"/extensions", "number", "10"}, {"/call-groups", "number", "10"},
	} {
		plus := o.get(o.key, o.path(f.path+"?"+f.filter+"=+"+f.value))
		o.checkOutcome(f.path+" with an unescaped +", plus, "400 VALIDATION_FAILED /"+f.filter+" INVALID_FORMAT")
		for value, want := range map[string]int{f.value: 1, f.value[:len(f.value)-1] + "%25": 0, f.value + "%20": 0, strings.ToUpper(f.value) + "_": 0} {
			body := o.mustGet(o.key, o.path(f.path+"?"+f.filter+"="+value))
			o.equalJSON(f.path+" "+f.filter+"="+value, body["total"], want)
			o.equalJSON("the rows", len(body["data"].([]any)), want)
			if want == 1 {
				name := cmp.Or(map[string]string{"phoneNumber": "phoneNumber", "number": "number"}[f.filter], "status")
				o.equalJSON("the row", jsonAt(body, "data.0."+name), strings.ReplaceAll(value, "%2B", "+"))
			}
		}
	}
}

// onlyWhatIsConfigured checks that details don't depend on what they refer to.
func onlyWhatIsConfigured(f *fixture) {
	detailsAdd((*fixture).extensions)(f)
	detailsAdd((*fixture).callGroups)(f)
	detailsAdd((*fixture).callMenus)(f)
	o, group := f.ownSystem(), uuid.New()
	path := o.path("/call-groups/" + group.String())
	state := &events.CallGroup{
		ID: group, PhoneSystemID: o.system, Version: o.next(), Name: "Sales", Number: "200", Status: "active", CreatedAt: day(1), UpdatedAt: day(1), RingPattern: "all",
		Members: []events.Reference{{Type: "extension", ID: o.call, PhoneSystemID: o.system}},
	}
	o.apply(events.Changed(state), o.extension(o.call, "Front", "active"))
	before := o.mustGet(o.key, path)
	o.apply(o.extension(o.call, "Front", "inactive"), o.deletion(o.extension(o.call, "", "")))
	o.expectJSON(o.key, path, "", before)
}

// playbackURLs checks playbacks with a URL and without one, in every member that has a playback.
func playbackURLs(f *fixture) {
	o := f.ownSystem()
	for _, url := range []any{"https://media.example/a.wav?x=1&y=<2>", nil} {
		playback := &events.Playback{Kind: "recorded"}
		if text, ok := url.(string); ok {
			playback.URL = events.Some(text)
		}
		play := &events.Action{Type: "play-audio", Literal: playback.URL}
		o.apply(changed(
			&events.Extension{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Number: "1", Name: "E", Status: "active", VoicemailGreeting: playback, UnansweredAction: play},
			&events.CallGroup{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Number: "1", Name: "G", Status: "active", VoicemailGreeting: playback, RingPattern: "all"},
			&events.CallMenu{ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: "M", Status: "active", Prompt: playback},
		)...)
		want := fields{"kind": "recorded", "url": url}
		o.expectJSON(o.key, o.path("/extensions/"+o.call.String()), "voicemailGreeting", want)
		o.expectJSON(o.key, o.path("/extensions/"+o.call.String()), "unansweredAction", fields{"type": "play-audio", "reference": nil, "literal": url})
		o.expectJSON(o.key, o.path("/call-groups/"+o.call.String()), "voicemailGreeting", want)
		o.expectJSON(o.key, o.path("/call-menus/"+o.call.String()), "prompt", want)
	}
}
