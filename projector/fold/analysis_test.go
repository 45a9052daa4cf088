package fold_test

import (
	"testing"

	"callboard/events"
	"callboard/projector/fold"
)

func analysis(n int, createdAt events.Time, version int64) *events.Analysis {
	return &events.Analysis{
		ID: id(n), PhoneSystemID: id(1), Version: version, CallID: id(30), CallSid: "CA1", Status: events.AnalysisCompleted, CreatedAt: createdAt,
		OverallScore: events.Some[int64](80), AnalyzedAt: events.Some[events.Time](5), ScorecardScore: events.Some(float64(n)),
	}
}

func theCall(w *world) fold.CallLog { return w.callLogs[fold.Key{System: id(1), ID: id(30)}] }

func TestAnalysis_BeforeItsCall(t *testing.T) {
	w := newWorld()
	answered := call(1)
	answered.AnsweredByExtensionID = events.Some(id(10))
	w.apply(at(1, events.Changed(analysis(80, 3, 1))))
	if row := w.analyses[fold.Key{System: id(1), ID: id(80)}]; row.Listed || len(w.counts)+len(w.ownAnalyses) > 0 {
		t.Errorf("listed before its call: %+v, %v", row, w.counts)
	}
	w.apply(at(2, events.Changed(answered)))
	if row := w.analyses[fold.Key{System: id(1), ID: id(80)}]; !row.Listed || len(w.ownAnalyses) != 1 {
		t.Errorf("not listed with its call: %+v, %v", row, w.ownAnalyses)
	}
	if row := theCall(w); row.ScorecardScore != events.Some(80.0) || row.UpdatedAt != 2 {
		t.Errorf("the call shows %+v", row)
	}
}

func TestAnalysis_TheNewestCompletedShows(t *testing.T) {
	pending := analysis(83, 9, 1)
	pending.Status = "processing"
	failed := analysis(82, 8, 2)
	failed.Status = "failed"
	removed := events.Changed(analysis(81, 7, 2))
	removed.State = nil
	steps := []struct {
		name      string
		event     events.Event
		want      events.Null[float64]
		updatedAt events.Time
	}{
		{"none", events.Changed(call(1)), events.Null[float64]{}, 1},
		{"the first", events.Changed(analysis(80, 7, 1)), events.Some(80.0), 2},
		{"of one instant the one with the greater id", events.Changed(analysis(81, 7, 1)), events.Some(81.0), 3},
		{"a newer one", events.Changed(analysis(82, 8, 1)), events.Some(82.0), 4},
		{"one that is not completed is passed over", events.Changed(pending), events.Some(82.0), 4},
		{"one that failed later on too", events.Changed(failed), events.Some(81.0), 6},
		{"a deleted one too", removed, events.Some(80.0), 7},
	}
	w := newWorld()
	for i, step := range steps {
		w.apply(at(events.Time(i+1), step.event))
		if row := theCall(w); row.ScorecardScore != step.want || row.UpdatedAt != step.updatedAt {
			t.Errorf("%s: shows %v since %d, want %v since %d", step.name, row.ScorecardScore, row.UpdatedAt, step.want, step.updatedAt)
		}
	}
}

func TestAnalysis_MembersThatNoReportShowsMoveNothing(t *testing.T) {
	w := newWorld()
	next := analysis(80, 3, 2)
	next.OverallScore, next.CoachingTips = events.Some[int64](1), []string{"Smile."}
	w.apply(at(1, events.Changed(call(1))), at(2, events.Changed(analysis(80, 3, 1))), at(3, events.Changed(next)))
	if row := theCall(w); row.UpdatedAt != 2 {
		t.Errorf("updatedAt %d, want 2", row.UpdatedAt)
	}
	if row := w.analyses[fold.Key{System: id(1), ID: id(80)}]; row.OverallScore != events.Some[int64](1) || row.CoachingTips != `["Smile."]` {
		t.Errorf("analysis %+v", row)
	}
}

func TestAnalysis_HasNoScoreUntilCompleted(t *testing.T) {
	w := newWorld()
	a := analysis(80, 3, 1)
	a.Status = "processing"
	w.apply(at(1, events.Changed(a)))
	if row := w.analyses[fold.Key{System: id(1), ID: id(80)}]; row.OverallScore.Valid || row.AnalyzedAt.Valid {
		t.Errorf("score %v at %v", row.OverallScore, row.AnalyzedAt)
	}
}

func TestAnalysis_CallNeverChanges(t *testing.T) {
	w := newWorld()
	moved := analysis(80, 3, 2)
	moved.CallID = id(31)
	w.apply(at(1, events.Changed(analysis(80, 3, 1))), at(2, events.Changed(moved)))
	if row := w.analyses[fold.Key{System: id(1), ID: id(80)}]; w.dead != 1 || row.CallID != id(30) {
		t.Errorf("%d dead letters, row %+v", w.dead, row)
	}
}

func TestAnalysis_EndsWithItsCall(t *testing.T) {
	w := newWorld()
	gone := events.Changed(call(2))
	gone.State = nil
	mustOutcomes(t, w.apply(
		at(1, events.Changed(call(1))), at(2, events.Changed(analysis(80, 3, 1))), at(3, gone), at(4, events.Changed(analysis(80, 3, 9))),
		at(5, events.Changed(analysis(81, 3, 1))),
	), fold.Applied, fold.Applied, fold.Applied, fold.Ignored, fold.Ignored)
	if n := len(w.analyses) + len(w.counts) + len(w.references) + len(w.ownAnalyses); n > 0 {
		t.Errorf("%d rows are left", n)
	}
}

func TestAnalysis_Representative(t *testing.T) {
	role := func(state string, representative int) *events.RepresentativeRole {
		r := &events.RepresentativeRole{State: state, Confidence: events.Some(0.5), Source: events.Some("voice")}
		if representative > 0 {
			r.ID = events.Some(id(representative))
		}
		return r
	}
	tests := []struct {
		name  string
		role  *events.RepresentativeRole
		state string
		id    bool
	}{
		{"none", nil, "not_analyzed", false},
		{"not analyzed", role("not_analyzed", 70), "not_analyzed", false},
		{"unknown", role("unknown", 70), "unknown", false},
		{"identified", role("identified", 70), "identified", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			a := analysis(80, 3, 1)
			a.Representative = test.role
			w.apply(at(1, events.Changed(call(1))), at(2, events.Changed(a)))
			if row := theCall(w); row.RepresentativeState != test.state || row.RepresentativeID.Valid != test.id {
				t.Errorf("state %q id %v", row.RepresentativeState, row.RepresentativeID)
			}
		})
	}
}

func TestAnalysis_ADeletedRepresentativeMovesNothing(t *testing.T) {
	w := newWorld()
	representative := events.Changed(&events.Representative{ID: id(70), PhoneSystemID: id(1), Version: 1})
	deleted := representative
	deleted.State, deleted.Version = nil, 2
	named, unnamed := analysis(80, 3, 1), analysis(80, 3, 2)
	named.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(id(70)), Confidence: events.Some(0.5)}
	unnamed.Representative = &events.RepresentativeRole{State: "identified", ID: events.Some(id(70)), Confidence: events.Some(0.25)}
	w.apply(at(1, representative), at(2, events.Changed(call(1))), at(3, events.Changed(named)), at(4, deleted), at(5, events.Changed(unnamed)))
	if row := theCall(w); row.UpdatedAt != 3 {
		t.Errorf("updatedAt %d, want 3", row.UpdatedAt)
	}
}
