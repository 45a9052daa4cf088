package scenario_test

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"callboard/events"
)

func snapshotTakesNoParameters(w *world) {
	for _, name := range []string{"page", "pageSize", "limit", "cursor", "dateFrom", "dateTo", "timeField"} {
		w.judged(w.key, w.home(dimensionsPath+"?"+name+"=1"), "400 VALIDATION_FAILED /"+name+" UNKNOWN_PARAMETER")
	}
}

// wholeSnapshot holds more entries than any page of a list has rows.
func wholeSnapshot(w *world) {
	o := w.office()
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
	o.happen(list...)
	a := o.get(o.key, o.path(dimensionsPath))
	o.same("its members", members(a.body), []string{
		"callGroups", "categories", "customerSentiments", "employeeSentiments", "extensions", "generatedAt", "handlerEntries", "overallSentiments",
	})
	o.is("the call groups", at(a.body, "callGroups.#"), 130)
	o.is("the categories", at(a.body, "categories.#"), 130)
	o.same("a link to more", a.header.Values("Link"), nil)
}

// untimely is the answer to a request for the dimensions while somebody else holds their table.
func (w *world) untimely() answer {
	w.t.Helper()
	ctx := context.Background()
	holder, err := w.pool.Begin(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(ctx) }()
	if _, err := holder.Exec(ctx, "lock table projection.reference_count in access exclusive mode"); err != nil {
		w.t.Fatal(err)
	}
	return w.get(w.key, w.home(dimensionsPath))
}

func untimelySnapshot(w *world) {
	a := w.untimely()
	w.judge("while the table is held", a, "503 EXTERNAL_SERVICE_TIMEOUT")
	w.holds("the problem", a.body, fields{"status": 503, "retryable": true})
	w.same("its members", members(a.body), problemMembers())
	w.judged(w.key, w.home(dimensionsPath), "200")
}
