package scenario_test

import (
	"github.com/google/uuid"

	"callboard/events"
)

func (w *world) analysisRow() fields {
	return fields{
		"id": w.analyzed, "phoneSystemId": w.harbour, "callSid": fullSid, "callLogId": w.full, "status": "completed", "overallScore": 88,
		"analyzedAt": day(6), "coachingTips": []string{"Say the name."}, "createdAt": day(5),
	}
}

func (w *world) waitingRow() fields {
	return fields{
		"id": w.waiting, "phoneSystemId": w.harbour, "callSid": bareSid, "callLogId": w.bare, "status": "pending", "overallScore": nil,
		"analyzedAt": nil, "coachingTips": []string{}, "createdAt": day(4),
	}
}

func analysisRows(w *world) {
	w.shows(w.key, w.home("/call-analyses"), "data", []fields{w.analysisRow(), w.waitingRow()})
}

func analysisDetails(w *world) {
	rows := w.read(w.key, w.home("/call-analyses"))["data"].([]any)
	w.is("the ids", column(rows, "id"), []any{w.analyzed, w.waiting})
	for _, row := range rows {
		w.shows(w.key, w.home("/call-analyses/"+at(row, "id").(string)), "", row)
	}
}

// analysisSteps proves what each status shows, whatever the analysis says already.
func analysisSteps(members func(status string) fields) func(*world) {
	return func(w *world) {
		o := w.office()
		for _, status := range []string{"pending", "processing", "completed", "failed"} {
			o.happen(o.findings(func(a *events.Analysis) {
				a.Status, a.OverallScore, a.AnalyzedAt = status, events.Some[int64](88), events.Some(day(6))
			}))
			o.holds(status, o.read(o.key, o.path("/call-analyses/"+o.call.String())), members(status))
			o.holds(status, at(o.read(o.key, o.path("/call-analyses")), "data.0"), members(status))
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

// Analyses outside of what the contract allows come to nothing.
func overallScores(w *world) {
	o := w.office()
	score := func(n int64) events.Event {
		return o.findings(func(a *events.Analysis) { a.OverallScore = events.Some(n) })
	}
	path := o.path("/call-analyses/" + o.call.String())
	for _, n := range []int64{0, 100} {
		o.happen(score(n))
		o.shows(o.key, path, "overallScore", n)
	}
	for _, wrong := range []string{"101", "-1", "50.5"} {
		o.tampered(score(50), `"overallScore":50`, `"overallScore":`+wrong)
		o.shows(o.key, path, "overallScore", 100)
	}
}

func unknownAnalysisStatus(w *world) {
	o := w.office()
	o.tampered(o.findings(func(*events.Analysis) {}), `"completed"`, `"queued"`)
	o.shows(o.key, o.path("/call-analyses"), "total", 0)
}

func coachingTips(w *world) {
	o := w.office()
	for _, tips := range [][]string{{"Second.", "First."}, {"Say \"hi\"."}, {}} {
		o.happen(o.findings(func(a *events.Analysis) { a.CoachingTips = tips }))
		o.shows(o.key, o.path("/call-analyses"), "data.0.coachingTips", tips)
	}
}

// representativeOf proves the representative of a call with an analysis of this kind.
func representativeOf(role *events.RepresentativeRole, want fields) func(*world) {
	return func(w *world) {
		o := w.office()
		o.happen(o.findings(func(a *events.Analysis) { a.Representative = role }))
		o.holds("the row", o.row(), fields{"representative": want})
	}
}

func nobody(state string, source any) fields {
	return fields{"id": nil, "name": nil, "state": state, "confidence": nil, "source": source}
}

func representativeStates(w *world) {
	w.holds("identified", w.report(w.key, w.harbour, w.full), fields{"representative": w.reportRow()["representative"]})
	representativeOf(&events.RepresentativeRole{State: "unknown"}, nobody("unknown", nil))(w)
	representativeOf(nil, nobody("not_analyzed", nil))(w)
	o := w.office()
	o.tampered(o.findings(func(a *events.Analysis) { a.Representative = &events.RepresentativeRole{State: "unknown"} }), `"unknown"`, `"somebody"`)
	o.holds("another state", o.row(), fields{"representative": nobody("not_analyzed", nil)})
	o.happen(o.findings(func(a *events.Analysis) {
		a.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(uuid.New())}
	}))
	o.holds("somebody never announced", o.row(), fields{"representative": nil})
}
