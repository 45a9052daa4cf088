package scenario_test

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

const dimensionsPath = "/call-log-reports/dimensions"

func (o *ownSystem) dimensions() map[string]any {
	o.Helper()
	return o.mustGet(o.key, o.path(dimensionsPath))
}

// dimensions returns the harbour's snapshot without generatedAt.
func (f *fixture) dimensions() fields {
	numbered := func(id uuid.UUID, name, number, status string, updated events.Time) fields {
		return fields{"id": id, "name": name, "number": number, "status": status, "updatedAt": updated}
	}
	fallback := func(code, label string) fields {
		return fields{"code": code, "label": label, "source": "fallback", "status": nil, "score": nil, "updatedAt": nil}
	}
	return fields{
		"callGroups":     []fields{numbered(f.desk, "Reception", "200", "active", day(1))},
		"extensions":     []fields{numbered(f.front, "Front desk", "101", "active", day(2)), numbered(f.back, "Back office", "102", "inactive", day(2))},
		"handlerEntries": []fields{{"id": f.ana, "name": "Ana Ruiz", "status": "active", "updatedAt": day(1)}},
		"categories": []fields{{
			"code": "new_patient", "label": "New patient", "source": "phone_system_override", "status": "active", "score": nil, "updatedAt": day(1),
		}},
		"overallSentiments": []fields{{
			"code": "positive", "label": "Positive", "source": "global_default", "status": "active", "score": 0.75, "updatedAt": day(1),
		}},
		"employeeSentiments": []fields{fallback("very_calm", "Very calm")},
		"customerSentiments": []fields{fallback("positive", "Positive")},
	}
}

// dimensionFamilies compares arrays of the harbour's snapshot.
func dimensionFamilies(names ...string) func(*fixture) {
	return func(f *fixture) {
		snapshot := f.mustGet(f.key, f.harbourPath(dimensionsPath))
		for _, name := range names {
			f.equalJSON(name, snapshot[name], f.dimensions()[name])
		}
	}
}

// dimensionSources checks that a phone system's definition precedes the global one, in the snapshot and in report rows.
func dimensionSources(f *fixture) {
	for kind, place := range map[string][2]string{
		"category": {"categories", "category"}, "overall_sentiment": {"overallSentiments", "overallSentiment"},
		"employee_sentiment": {"employeeSentiments", "employeeSentiment"}, "customer_sentiment": {"customerSentiments", "customerSentiment"},
	} {
		f.ownSystem().checkSources(kind, place[0], place[1])
	}
}

// checkSources publishes and deletes definitions of a code, and checks the family's entry and the row's member after each.
func (o *ownSystem) checkSources(kind, family, member string) {
	o.Helper()
	code := "code " + o.call.String()
	global := &events.Classification{Version: 1, Kind: kind, Code: code, Label: "Global", Status: "retired", UpdatedAt: day(2)}
	local := *global
	local.PhoneSystemID, local.Label, local.Status, local.UpdatedAt = events.Some(o.system), "Own", "active", day(3)
	var score any
	if kind != events.KindCategory {
		global.Score, local.Score, score = events.Some(0.25), events.Some(0.25), 0.25
	}
	s := &events.Sentiment{Code: code}
	o.apply(o.analysis(func(a *events.Analysis) {
		a.Category, a.OverallSentiment, a.EmployeeSentiment, a.CustomerSentiment = events.Some(code), s, s, s
	}), events.Changed(global), events.Changed(&local))
	shows := func(label, source string, status, score, updated any) {
		o.Helper()
		o.equalJSON(family, o.dimensions()[family], []fields{{"code": code, "label": label, "source": source, "status": status, "score": score, "updatedAt": updated}})
		o.equalJSON(member, jsonAt(o.row(), member+".label"), label)
	}
	shows("Own", "phone_system_override", "active", score, day(3))
	local.Version++
	o.apply(deleted(&local))
	shows("Global", "global_default", "retired", score, day(2))
	global.Version++
	o.apply(deleted(global))
	shows("Code "+strings.ReplaceAll(o.call.String(), "-", " "), "fallback", nil, nil, nil)
}

// entries returns the ids or codes of every family.
func (o *ownSystem) entries() map[string][]any {
	o.Helper()
	list := map[string][]any{}
	for family, entries := range o.dimensions() {
		if entries, ok := entries.([]any); ok {
			name := "id"
			if !strings.Contains("callGroups extensions handlerEntries", family) {
				name = "code"
			}
			list[family] = column(entries, name)
		}
	}
	return list
}

func families(group, extensions, representative, category, overall, employee, customer []any) fields {
	return fields{
		"callGroups": group, "extensions": extensions, "handlerEntries": representative, "categories": category, "overallSentiments": overall,
		"employeeSentiments": employee, "customerSentiments": customer,
	}
}

func noFamilies() fields {
	none := []any{}
	return families(none, none, none, none, none, none, none)
}

func (o *ownSystem) allFamilies() fields {
	self, fresh, calm := []any{o.call}, []any{"fresh"}, []any{"calm"}
	return families(self, self, self, fresh, calm, calm, calm)
}

func (o *ownSystem) expectEntries(what string, want fields) {
	o.Helper()
	o.equalJSON(what, o.entries(), want)
}

// membership checks that entries appear with the first reference and disappear with the last call that has it.
func membership(f *fixture) {
	o, other := f.ownSystem(), uuid.New()
	o.apply(o.extension(uuid.New(), "Spare", "active"), o.callGroup(uuid.New(), "Spare", "active"), o.representative(uuid.New(), "Spare", "active"),
		o.classification("category", "spare", "Spare"))
	o.expectEntries("before any reference", noFamilies())
	o.publishReferences()
	o.expectEntries("with references", o.allFamilies())
	second := o.latest
	second.ID, second.Version = other, o.next()
	o.apply(events.Changed(&second))
	o.apply(o.deletion(o.callWithReferences()))
	self, none := []any{o.call}, []any{}
	o.expectEntries("with a second call alone", families(self, self, none, none, none, none, none))
	o.apply(o.deletion(events.Changed(&second)))
	o.expectEntries("without calls", noFamilies())
}

func unreferenced(f *fixture) {
	o := f.ownSystem()
	o.publishReferences()
	o.apply(o.editCall(func(c *events.Call) {
		c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}
	}), o.analysis(func(*events.Analysis) {}))
	o.expectEntries("after its references are gone", noFamilies())
}

func deactivated(f *fixture) {
	o := f.ownSystem()
	o.publishReferences()
	o.apply(o.extension(o.call, "Front", "inactive"), o.callGroup(o.call, "Sales", "archived"), o.representative(o.call, "Ana", "former"))
	snapshot := o.dimensions()
	for family, status := range map[string]string{"extensions": "inactive", "callGroups": "archived", "handlerEntries": "former"} {
		o.equalJSON(family, column(snapshot[family], "id"), []any{o.call})
		o.equalJSON(family, column(snapshot[family], "status"), []any{status})
	}
}

func deletedDimension(f *fixture) {
	o := f.ownSystem()
	o.publishReferences()
	o.apply(extensionDeletion(o), callGroupDeletion(o), o.deletion(o.representative(o.call, "", "")))
	calm := []any{"calm"}
	o.expectEntries("after the deletions", families([]any{}, []any{}, []any{}, []any{"fresh"}, calm, calm, calm))
}

// wholeSnapshot has more entries than a page of a list may have rows.
func wholeSnapshot(f *fixture) {
	o := f.ownSystem()
	var list []events.Event
	for i := range 130 {
		c := o.latest
		c.ID, c.Version = uuid.New(), o.next()
		c.CallGroupID = events.Some(c.ID)
		analysis := &events.Analysis{
			ID: c.ID, PhoneSystemID: o.system, Version: 1, CallID: c.ID, CallSid: c.CallSid, Status: "completed", CreatedAt: day(5),
			Category: events.Some(fmt.Sprint("code_", i)),
		}
		list = append(list, o.callGroup(c.ID, "G", "active"), events.Changed(&c), events.Changed(analysis))
	}
	o.apply(list...)
	a := o.get(o.key, o.path(dimensionsPath))
	o.equalStrings("the members", memberNames(a.body), []string{
		"callGroups", "categories", "customerSentiments", "employeeSentiments", "extensions", "generatedAt", "handlerEntries", "overallSentiments",
	})
	o.equalJSON("the call groups", jsonAt(a.body, "callGroups.#"), 130)
	o.equalJSON("the categories", jsonAt(a.body, "categories.#"), 130)
	o.equalStrings("the Link header", a.header.Values("Link"), nil)
}
