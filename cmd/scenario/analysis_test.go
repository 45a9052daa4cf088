package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

func (f *fixture) analysisRow() fields {
	return fields{
		"id": f.analyzed, "phoneSystemId": f.harbour, "callSid": fullSid, "callLogId": f.full, "status": "completed", "overallScore": 88,
		"analyzedAt": day(6), "coachingTips": []string{"Say the name."}, "createdAt": day(5),
	}
}

func (f *fixture) waitingRow() fields {
	return fields{
		"id": f.waiting, "phoneSystemId": f.harbour, "callSid": bareSid, "callLogId": f.bare, "status": "pending", "overallScore": nil,
		"analyzedAt": nil, "coachingTips": []string{}, "createdAt": day(4),
	}
}

func analysisRows(f *fixture) {
	f.expectJSON(f.key, f.harbourPath("/call-analyses"), "data", []fields{f.analysisRow(), f.waitingRow()})
}

func analysisDetails(f *fixture) {
	rows := f.mustGet(f.key, f.harbourPath("/call-analyses"))["data"].([]any)
	f.equalJSON("the ids", column(rows, "id"), []any{f.analyzed, f.waiting})
	for _, row := range rows {
		f.expectJSON(f.key, f.harbourPath("/call-analyses/"+jsonAt(row, "id").(string)), "", row)
	}
}

// analysisSteps checks members of analyses with a score in every status.
func analysisSteps(members func(status string) fields) func(*fixture) {
	return func(f *fixture) {
		o := f.ownSystem()
		for _, status := range []string{"pending", "processing", "completed", "failed"} {
			o.apply(o.analysis(func(a *events.Analysis) {
				a.Status, a.OverallScore, a.AnalyzedAt = status, events.Some[int64](88), events.Some(day(6))
			}))
			o.equalMembers(status, o.mustGet(o.key, o.path("/call-analyses/"+o.call.String())), members(status))
			o.equalMembers(status, jsonAt(o.mustGet(o.key, o.path("/call-analyses")), "data.0"), members(status))
		}
	}
}

func analysisStatuses(status string) fields { return fields{"status": status} }

func resultsOnceCompleted(status string) fields {
	if status == "completed" {
		return fields{"overallScore": 88, "analyzedAt": day(6)}
	}
	return fields{"overallScore": nil, "analyzedAt": nil}
}

// An analysis with a score outside 0..100 is not applied.
func overallScores(f *fixture) {
	o := f.ownSystem()
	score := func(n int64) events.Event {
		return o.analysis(func(a *events.Analysis) { a.OverallScore = events.Some(n) })
	}
	path := o.path("/call-analyses/" + o.call.String())
	for _, n := range []int64{0, 100} {
		o.apply(score(n))
		o.expectJSON(o.key, path, "overallScore", n)
	}
	for _, wrong := range []string{"101", "-1", "50.5"} {
		o.applyEdited(score(50), `"overallScore":50`, `"overallScore":`+wrong)
		o.expectJSON(o.key, path, "overallScore", 100)
	}
}

func unknownAnalysisStatus(f *fixture) {
	o := f.ownSystem()
	o.applyEdited(o.analysis(func(*events.Analysis) {}), `"completed"`, `"queued"`)
	o.expectJSON(o.key, o.path("/call-analyses"), "total", 0)
}

func coachingTips(f *fixture) {
	o := f.ownSystem()
	for _, tips := range [][]string{{"Second.", "First."}, {"Say \"hi\"."}, {}} {
		o.apply(o.analysis(func(a *events.Analysis) { a.CoachingTips = tips }))
		o.expectJSON(o.key, o.path("/call-analyses"), "data.0.coachingTips", tips)
	}
}

// representativeOf checks the representative of a call whose analysis has a role.
func representativeOf(role *events.RepresentativeRole, want fields) func(*fixture) {
	return func(f *fixture) {
		o := f.ownSystem()
		o.apply(o.analysis(func(a *events.Analysis) { a.Representative = role }))
		o.equalMembers("the row", o.row(), fields{"representative": want})
	}
}

func noRepresentative(state string, source any) fields {
	return fields{"id": nil, "name": nil, "state": state, "confidence": nil, "source": source}
}

func representativeStates(f *fixture) {
	f.equalMembers("identified", f.reportRowOf(f.key, f.harbour, f.full), fields{"representative": f.reportRow()["representative"]})
	o := f.ownSystem()
	o.applyEdited(o.analysis(func(a *events.Analysis) { a.Representative = &events.RepresentativeRole{State: "unknown"} }), `"unknown"`, `"other"`)
	o.equalMembers("after an unknown state", o.row(), fields{"representative": noRepresentative("not_analyzed", nil)})
	o.apply(o.analysis(func(a *events.Analysis) {
		a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(uuid.New())}
	}))
	o.equalMembers("an unknown representative", o.row(), fields{"representative": nil})
}
