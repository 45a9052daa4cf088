package scenario_test

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"callboard/events"
)

const dimensionsPath = "/call-log-reports/dimensions"

func (o *office) dimensions() map[string]any {
	o.t.Helper()
	return o.read(o.key, o.path(dimensionsPath))
}

// dimensions are the world's snapshot, save generatedAt.
func (w *world) dimensions() fields {
	numbered := func(id uuid.UUID, name, number, status string, updated events.Time) fields {
		return fields{"id": id, "name": name, "number": number, "status": status, "updatedAt": updated}
	}
	fallback := func(code, label string) fields {
		return fields{"code": code, "label": label, "source": "fallback", "status": nil, "score": nil, "updatedAt": nil}
	}
	return fields{
		"callGroups":     []fields{numbered(w.desk, "Reception", "200", "active", day(1))},
		"extensions":     []fields{numbered(w.front, "Front desk", "101", "active", day(2)), numbered(w.back, "Back office", "102", "inactive", day(2))},
		"handlerEntries": []fields{{"id": w.ana, "name": "Ana Ruiz", "status": "active", "updatedAt": day(1)}},
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

// dimensionFamilies proves these arrays of the world's snapshot.
func dimensionFamilies(names ...string) func(*world) {
	return func(w *world) {
		snapshot := w.read(w.key, w.home(dimensionsPath))
		for _, name := range names {
			w.is(name, snapshot[name], w.dimensions()[name])
		}
	}
}

// Beside its arrays, all seven, the snapshot has the time it was made and nothing else.
func generatedAt(w *world) {
	snapshot := w.read(w.key, w.home(dimensionsPath))
	if text, ok := snapshot["generatedAt"].(string); !ok || !dateTimeForm.MatchString(text) {
		w.t.Errorf("generatedAt is %v", snapshot["generatedAt"])
	}
	w.is("the members", members(snapshot), members(map[string]any(w.dimensions().and(fields{"generatedAt": nil}))))
}

// A definition of the system's own stands before the global one, and that before none: in the snapshot and in rows.
func dimensionSources(w *world) {
	for kind, place := range map[string][2]string{
		"category": {"categories", "category"}, "overall_sentiment": {"overallSentiments", "overallSentiment"},
		"employee_sentiment": {"employeeSentiments", "employeeSentiment"}, "customer_sentiment": {"customerSentiments", "customerSentiment"},
	} {
		w.office().sources(kind, place[0], place[1])
	}
}

// sources publishes and ends definitions of a code of one kind, and holds each against the family's entry and the row's member.
func (o *office) sources(kind, family, member string) {
	o.t.Helper()
	code := "code " + o.call.String()
	global := &events.Classification{Version: 1, Kind: kind, Code: code, Label: "Global", Status: "retired", UpdatedAt: day(2)}
	local := *global
	local.PhoneSystemID, local.Label, local.Status, local.UpdatedAt = events.Some(o.system), "Own", "active", day(3)
	var score any
	if kind != events.KindCategory {
		global.Score, local.Score, score = events.Some(0.25), events.Some(0.25), 0.25
	}
	s := &events.Sentiment{Code: code}
	o.happen(o.findings(func(a *events.Analysis) {
		a.Category, a.OverallSentiment, a.EmployeeSentiment, a.CustomerSentiment = events.Some(code), s, s, s
	}), events.Changed(global), events.Changed(&local))
	shows := func(label, source string, status, score, updated any) {
		o.t.Helper()
		o.is(family, o.dimensions()[family], []fields{{"code": code, "label": label, "source": source, "status": status, "score": score, "updatedAt": updated}})
		o.is(member, at(o.row(), member+".label"), label)
	}
	shows("Own", "phone_system_override", "active", score, day(3))
	local.Version++
	o.happen(deleted(&local))
	shows("Global", "global_default", "retired", score, day(2))
	global.Version++
	o.happen(deleted(global))
	shows("Code "+strings.ReplaceAll(o.call.String(), "-", " "), "fallback", nil, nil, nil)
}

// A kind's definition says nothing of the same code of another kind, nor one system's of another's.
func fallbacks(w *world) {
	o, elsewhere := w.office(), w.office()
	o.happen(o.findings(func(a *events.Analysis) {
		a.Category, a.EmployeeSentiment = events.Some("lost_call"), &events.Sentiment{Code: "lost_call"}
	}), o.classification("overall_sentiment", "lost_call", "Lost"), elsewhere.classification("category", "lost_call", "Lost"))
	entry := []fields{{"code": "lost_call", "label": "Lost call", "source": "fallback", "status": nil, "score": nil, "updatedAt": nil}}
	o.is("the categories", o.dimensions()["categories"], entry)
	o.is("the sentiments", o.dimensions()["employeeSentiments"], entry)
}

// Labels without a definition are the code's own, twice the same, and never blank, a blank definition included.
func fallbackLabels(w *world) {
	for code, label := range map[string]string{"lapsed_patient": "Lapsed patient", "lost-call.2": "Lost call 2", "Élan": "Élan", "---": "---", "blank": "Blank"} {
		o := w.office()
		o.happen(o.findings(func(a *events.Analysis) { a.Category = events.Some(code) }), o.classification("category", "blank", " "))
		o.is("the label of "+code, at(o.dimensions(), "categories.0.label"), label)
		o.is("once more", at(o.dimensions(), "categories.0.label"), label)
		o.is("in the row", at(o.row(), "category"), fields{"code": code, "label": label})
	}
}

// members are the ids or codes of all families.
func (o *office) members() map[string][]any {
	o.t.Helper()
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

func (o *office) allFamilies() fields {
	self, fresh, calm := []any{o.call}, []any{"fresh"}, []any{"calm"}
	return families(self, self, self, fresh, calm, calm, calm)
}

func (o *office) hasMembers(what string, want fields) {
	o.t.Helper()
	o.is(what, o.members(), want)
}

// What nobody refers to is not there; what a retained call refers to is, until the last such call is gone.
func membership(w *world) {
	o, other := w.office(), uuid.New()
	o.happen(o.extension(uuid.New(), "Spare", "active"), o.callGroup(uuid.New(), "Spare", "active"), o.representative(uuid.New(), "Spare", "active"),
		o.classification("category", "spare", "Spare"))
	o.hasMembers("before any reference", noFamilies())
	o.involved()
	o.hasMembers("with references", o.allFamilies())
	second := o.latest
	second.ID, second.Version = other, o.next()
	o.happen(events.Changed(&second))
	o.happen(o.gone(o.engaged()))
	self, none := []any{o.call}, []any{}
	o.hasMembers("with a second call alone", families(self, self, none, none, none, none, none))
	o.happen(o.gone(events.Changed(&second)))
	o.hasMembers("without calls", noFamilies())
}

func unreferenced(w *world) {
	o := w.office()
	o.involved()
	o.happen(o.edited(func(c *events.Call) {
		c.CallGroupID, c.AnsweredByExtensionID, c.FromExtensionID = events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}, events.Null[uuid.UUID]{}
	}), o.findings(func(*events.Analysis) {}))
	o.hasMembers("after its references are gone", noFamilies())
}

func deactivated(w *world) {
	o := w.office()
	o.involved()
	o.happen(o.extension(o.call, "Front", "inactive"), o.callGroup(o.call, "Sales", "archived"), o.representative(o.call, "Ana", "former"))
	snapshot := o.dimensions()
	for family, status := range map[string]string{"extensions": "inactive", "callGroups": "archived", "handlerEntries": "former"} {
		o.is(family, column(snapshot[family], "id"), []any{o.call})
		o.is(family, column(snapshot[family], "status"), []any{status})
	}
}

func deletedDimension(w *world) {
	o := w.office()
	o.involved()
	o.happen(endOfExtension(o), endOfCallGroup(o), o.gone(o.representative(o.call, "", "")))
	calm := []any{"calm"}
	o.hasMembers("after the deletions", families([]any{}, []any{}, []any{}, []any{"fresh"}, calm, calm, calm))
}

// Identifiers order as they are written, and codes by code point, whatever the order of events.
func dimensionOrder(w *world) {
	o := w.office()
	ids := []uuid.UUID{{0xff}, {0x0a}, {0xa0}, {0x01}}
	codes := []string{"b", "a", "Z", "é", "a_b", "10", "9"}
	for i, code := range codes {
		c := o.latest
		c.ID, c.Version = uuid.New(), o.next()
		c.CallGroupID, c.AnsweredByExtensionID = events.Some(ids[i%4]), events.Some(ids[(i+1)%4])
		o.happen(o.extension(ids[i%4], "E", "active"), o.callGroup(ids[i%4], "G", "active"), o.representative(ids[i%4], "R", "active"),
			events.Changed(&c), events.Changed(&events.Analysis{
				ID: c.ID, PhoneSystemID: o.system, Version: 1, CallID: c.ID, CallSid: c.CallSid, Status: "completed", CreatedAt: day(5),
				Category: events.Some(code), OverallSentiment: &events.Sentiment{Code: code}, EmployeeSentiment: &events.Sentiment{Code: code},
				CustomerSentiment: &events.Sentiment{Code: code}, Representative: &events.RepresentativeRole{State: "identified", ID: events.Some(ids[i%4])},
			}))
	}
	byID, byCode := []any{ids[3], ids[1], ids[2], ids[0]}, []any{"10", "9", "Z", "a", "a_b", "b", "é"}
	o.hasMembers("in order", families(byID, byID, byID, byCode, byCode, byCode, byCode))
}

// Two snapshots of one state differ in generatedAt, and in no other byte.
func identicalSnapshots(w *world) {
	o := w.office()
	o.involved()
	front := events.Extension{ID: o.call, PhoneSystemID: o.system, Number: "101", Status: "active", CreatedAt: day(1), UpdatedAt: day(2)}
	snapshot := func(name string) string {
		front.Name, front.Version = name, o.next()
		state := front
		o.happen(events.Changed(&state))
		a := o.get(o.key, o.path(dimensionsPath))
		stamp := fmt.Sprintf(`"generatedAt":%q`, a.body["generatedAt"])
		if !strings.Contains(a.text, stamp) {
			w.t.Fatalf("no generatedAt in %s", a.text)
		}
		return strings.Replace(a.text, stamp, "", 1)
	}
	first, other, again := snapshot("Front"), snapshot("Back"), snapshot("Front")
	if first == other || first != again {
		w.t.Errorf("%s\n%s\n%s", first, other, again)
	}
}
