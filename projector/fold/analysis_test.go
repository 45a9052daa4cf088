package fold_test

import (
	"testing"

	"callboard/events"
)

func TestAnalysis_CallShowsTheNewestCompleted(t *testing.T) {
	pending := analysis(83, 9, 1)
	pending.Status = "processing"
	failed := analysis(82, 8, 2)
	failed.Status = "failed"
	steps := []struct {
		name      string
		event     events.Event
		want      events.Null[float64]
		updatedAt events.Time
	}{
		{"none", events.Changed(call(1)), events.Null[float64]{}, 1},
		{"the first one", events.Changed(analysis(80, 7, 1)), events.Some(80.0), 2},
		{"at equal createdAt the greater id wins", events.Changed(analysis(81, 7, 1)), events.Some(81.0), 3},
		{"a newer one", events.Changed(analysis(82, 8, 1)), events.Some(82.0), 4},
		{"one that is not completed is passed over", events.Changed(pending), events.Some(82.0), 4},
		{"a completed one that becomes failed is passed over", events.Changed(failed), events.Some(81.0), 6},
		{"a deleted one is passed over", deleted(analysis(81, 7, 2)), events.Some(80.0), 7},
	}
	f := newFixture()
	for i, step := range steps {
		f.apply(at(events.Time(i+1), step.event))
		if row := f.call(); row.ScorecardScore != step.want || row.UpdatedAt != step.updatedAt {
			t.Errorf("%s: scorecardScore = %v, updatedAt = %d, want %v and %d", step.name, row.ScorecardScore, row.UpdatedAt, step.want, step.updatedAt)
		}
	}
}

func TestAnalysis_HasNoScoreUntilCompleted(t *testing.T) {
	f := newFixture()
	a := analysis(80, 3, 1)
	a.Status = "processing"
	f.apply(at(1, events.Changed(a)))
	if row := f.Analyses[key(80)]; row.OverallScore.Valid || row.AnalyzedAt.Valid {
		t.Errorf("overallScore = %v, analyzedAt = %v, want null", row.OverallScore, row.AnalyzedAt)
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
			f := newFixture()
			a := analysis(80, 3, 1)
			a.Representative = test.role
			f.apply(at(1, events.Changed(call(1))), at(2, events.Changed(a)))
			if row := f.call(); row.RepresentativeState != test.state || row.RepresentativeID.Valid != test.id {
				t.Errorf("representative = %q %v, want %q, id: %t", row.RepresentativeState, row.RepresentativeID, test.state, test.id)
			}
		})
	}
}

// Every form in which an event clears the reference to a deleted representative leaves updatedAt as it is. Other
// values change it, and so does the same event while the representative exists.
func TestAnalysis_ClearedRepresentative(t *testing.T) {
	representative := func(version int64) events.State {
		return &events.Representative{ID: id(70), PhoneSystemID: id(1), Version: version}
	}
	role := func(state string, confidence float64) *events.RepresentativeRole {
		return &events.RepresentativeRole{State: state, ID: events.Some(id(70)), Confidence: events.Some(confidence), Source: events.Some("voice")}
	}
	by := func(role *events.RepresentativeRole) events.Event {
		a := analysis(80, 3, 2)
		a.Representative = role
		return events.Changed(a)
	}
	newer := analysis(81, 4, 1)
	newer.ScorecardScore = events.Some(80.0)
	for name, c := range map[string]struct {
		event            events.Event
		deleted, existed events.Time // the updatedAt after the event, if the representative was deleted before it, and if it was not
	}{
		"no representative":       {by(nil), 3, 5},
		"unknown":                 {by(&events.RepresentativeRole{State: "unknown"}), 3, 5},
		"not analyzed":            {by(&events.RepresentativeRole{State: "not_analyzed"}), 3, 5},
		"unknown, the rest stays": {by(role("unknown", 0.5)), 3, 5},
		"a newer analysis":        {events.Changed(newer), 3, 5},
		"nothing is cleared":      {by(role("identified", 0.25)), 3, 5},
		"another confidence":      {by(role("unknown", 0.25)), 5, 5},
		"another source":          {by(&events.RepresentativeRole{State: "unknown", Source: events.Some("menu")}), 5, 5},
		"a deleted analysis":      {deleted(analysis(80, 3, 2)), 5, 5}, // its score goes as well
	} {
		for _, isDeleted := range []bool{true, false} {
			before, want := analysis(80, 3, 1), c.existed
			before.Representative = role("identified", 0.5)
			f := newFixture()
			f.apply(at(1, events.Changed(representative(1))), at(2, events.Changed(call(1))), at(3, events.Changed(before)))
			if isDeleted {
				f.apply(at(4, deleted(representative(2))))
				want = c.deleted
			}
			f.apply(at(5, c.event))
			if row := f.call(); row.UpdatedAt != want {
				t.Errorf("%s, deleted: %t: updatedAt = %d, want %d", name, isDeleted, row.UpdatedAt, want)
			}
		}
	}
}
