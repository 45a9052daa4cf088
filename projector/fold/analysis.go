package fold

import (
	"bytes"

	"callboard/events"
)

// The representative states that the fold itself uses. A call without an analysis is not analyzed.
const (
	representativeIdentified  = "identified"
	representativeNotAnalyzed = "not_analyzed"
)

func (a Analysis) owner() OwnerRowKey { return callOwnerRow(Key{a.System, a.CallID}) }

func (s *State) analyses() facetTable[Key, Analysis] {
	return newFacetTable(&s.Analyses, &s.analysesOf, s.countAnalysis)
}

func (s *State) needAnalysis(e events.Event) {
	s.Analyses.need(keyOf(e.Identity))
	a, ok := e.State.(*events.Analysis)
	if !ok {
		return
	}
	s.needOwnerRow(callOwnerRow(Key{e.System, a.CallID}))
	if a.Representative != nil {
		s.needReference(e.System, events.EntityRepresentative, a.Representative.ID)
	}
}

func (s *State) applyAnalysis(e events.Event, at events.Time) (Outcome, error) {
	return applyFacet(s, s.analyses(), keyOf(e.Identity), e, at,
		func() Analysis { return s.analysis(e.State.(*events.Analysis)) })
}

func (s *State) analysis(a *events.Analysis) Analysis {
	row := Analysis{
		Key:       Key{a.PhoneSystemID, a.ID},
		Versioned: Versioned{a.Version},

		CallID:       a.CallID,
		CallSid:      a.CallSid,
		Status:       a.Status,
		CreatedAt:    a.CreatedAt,
		CoachingTips: jsonArray(a.CoachingTips),
		Findings:     findings(a),
	}

	if a.Status == events.AnalysisCompleted {
		row.OverallScore, row.AnalyzedAt = a.OverallScore, a.AnalyzedAt
	}

	// An analysis can arrive before its call, and no list has it until then.
	_, row.Listed = s.CallLogs.Get(Key{row.System, row.CallID})
	return row
}

func findings(a *events.Analysis) Findings {
	f := Findings{
		Category:            a.Category,
		OverallSentiment:    sentiment(a.OverallSentiment),
		EmployeeSentiment:   sentiment(a.EmployeeSentiment),
		CustomerSentiment:   sentiment(a.CustomerSentiment),
		SentimentSource:     a.SentimentSource,
		ScorecardScore:      a.ScorecardScore,
		RepresentativeState: representativeNotAnalyzed,
	}

	if role := a.Representative; role != nil {
		f.RepresentativeState, f.RepresentativeConfidence, f.RepresentativeSource = role.State, role.Confidence, role.Source
		if role.State == representativeIdentified {
			f.RepresentativeID = role.ID
		}
	}

	return f
}

func sentiment(s *events.Sentiment) Sentiment {
	if s == nil {
		return Sentiment{}
	}
	return Sentiment{Code: events.Some(s.Code), Score: s.Score}
}

// countAnalysis changes the counters of an analysis whose call has arrived, those of the call's extensions included.
func (s *State) countAnalysis(row Analysis, by int64) {
	if row.Listed {
		call, _ := s.CallLogs.Get(Key{row.System, row.CallID})
		s.countPerExtension(ListAnalysis, row.Key, row.CreatedAt, call.extensions(), by)
	}
}

// newestFindings returns the findings that a call shows: of the newest completed analysis by (createdAt, id).
func (s *State) newestFindings(call OwnerRowKey) Findings {
	newest, found := Analysis{}, false
	for _, row := range s.analyses().of(call) {
		if row.Status != events.AnalysisCompleted {
			continue
		}

		if !found || row.CreatedAt > newest.CreatedAt || row.CreatedAt == newest.CreatedAt &&
			bytes.Compare(row.ID[:], newest.ID[:]) > 0 {
			newest, found = row, true
		}
	}

	if !found {
		return Findings{RepresentativeState: representativeNotAnalyzed}
	}

	return newest.Findings
}
