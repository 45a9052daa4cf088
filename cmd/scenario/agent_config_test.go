package scenario_test

import (
	"fmt"

	"github.com/google/uuid"

	"callboard/events"
)

func agentConfigRows(w *world) {
	row := func(id uuid.UUID, name string, number any, status string, created int) fields {
		return fields{
			"id": id, "phoneSystemId": w.harbour, "name": name, "agentNumber": number, "status": status, "createdAt": day(created), "updatedAt": day(created),
		}
	}
	w.shows(w.key, w.home("/agent-configs"), "data", []fields{row(w.spare, "Spare", nil, "testing", 2), row(w.ava, "Ava", 3, "active", 1)})
}

func agentConfigDetails(w *world) {
	rows := w.read(w.key, w.home("/agent-configs"))["data"].([]any)
	w.is("the ids", column(rows, "id"), []any{w.spare, w.ava})
	for _, row := range rows {
		w.shows(w.key, w.home("/agent-configs/"+at(row, "id").(string)), "", row)
	}
}

func (o *office) agentConfig(number events.Null[int64], status string) events.Event {
	return events.Changed(&events.AgentConfig{
		ID: o.call, PhoneSystemID: o.system, Version: o.next(), Name: "Ava", AgentNumber: number, Status: status, CreatedAt: day(1), UpdatedAt: day(2),
	})
}

// agentConfigKeeps proves that a change whose member has another value changes nothing.
func (o *office) agentConfigKeeps(e events.Event, old, instead, member string, want any) {
	o.t.Helper()
	o.tampered(e, old, instead)
	o.shows(o.key, o.path("/agent-configs/"+o.call.String()), member, want)
}

func agentConfigNumbers(w *world) {
	o := w.office()
	path := o.path("/agent-configs/" + o.call.String())
	o.happen(o.agentConfig(events.Null[int64]{}, "active"))
	o.shows(o.key, path, "agentNumber", nil)
	for n := int64(1); n <= 9; n++ {
		o.happen(o.agentConfig(events.Some(n), "active"))
		o.shows(o.key, path, "agentNumber", n)
	}
	for _, other := range []string{"0", "10", "-1", "1.5", `"1"`} {
		o.agentConfigKeeps(o.agentConfig(events.Some[int64](1), "active"), `"agentNumber":1`, `"agentNumber":`+other, "agentNumber", 9)
	}
}

func agentConfigStates(w *world) {
	o := w.office()
	for _, status := range []string{"active", "inactive", "paused", "archived", "testing"} {
		o.happen(o.agentConfig(events.Null[int64]{}, status))
		o.shows(o.key, o.path("/agent-configs/"+o.call.String()), "status", status)
	}
	o.agentConfigKeeps(o.agentConfig(events.Null[int64]{}, "active"), `"active"`, `"deleted"`, "status", "testing")
}

// A publisher that sends more than belongs here has none of it passed on.
func agentSecrets(w *world) {
	o := w.office()
	for i, member := range []string{"prompt", "systemPrompt", "model", "credentials", "apiKey"} {
		name := fmt.Sprint("Ava ", i)
		e := o.agentConfig(events.Null[int64]{}, "active")
		o.tampered(e, `"name":"Ava"`, fmt.Sprintf(`"name":%q,%q:"sesame"`, name, member))
		want := fields{
			"id": o.call, "phoneSystemId": o.system, "name": name, "agentNumber": nil, "status": "active", "createdAt": day(1), "updatedAt": day(2),
		}
		o.shows(o.key, o.path("/agent-configs"), "data", []fields{want})
		o.shows(o.key, o.path("/agent-configs/"+o.call.String()), "", want)
	}
}
