package fold

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
)

// The states of a representative. A call without an analysis is not analyzed.
const (
	representativeIdentified  = "identified"
	representativeNotAnalyzed = "not_analyzed"
)

func (a Analysis) version() int64 { return a.Version }

func (a Analysis) owner() events.OwnerRow {
	return events.OwnerRow{Entity: events.EntityCall, ID: a.CallID}
}

func (s *State) analyses() facets[Key, Analysis] {
	return facets[Key, Analysis]{&s.Analyses, &s.analysesOf, s.listAnalysis}
}

// LoadAnalysis adds an analysis as it stands in the database.
func (s *State) LoadAnalysis(row Analysis) {
	s.Analyses.Load(row.Key, row)
	s.analysesOf.own(OwnerRowKey{row.System, row.owner()}, row.Key)
}

// foldAnalysis applies an event of an analysis.
func (s *State) foldAnalysis(e events.Event, at events.Time) (Outcome, error) {
	return attach(s, s.analyses(), keyOf(e), e, at, func() Analysis { return s.analysis(e.State.(*events.Analysis)) })
}

func (s *State) analysis(a *events.Analysis) Analysis {
	row := Analysis{
		Key:          Key{a.PhoneSystemID, a.ID},
		Version:      a.Version,
		CallID:       a.CallID,
		CallSid:      a.CallSid,
		Status:       a.Status,
		CreatedAt:    a.CreatedAt,
		CoachingTips: array(a.CoachingTips),
		Findings:     findings(a),
	}
	if a.Status == events.AnalysisCompleted {
		row.OverallScore, row.AnalyzedAt = a.OverallScore, a.AnalyzedAt
	}
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

// listAnalysis counts an analysis, once its call has arrived, in the lists of the call's extensions too.
func (s *State) listAnalysis(row Analysis, by int64) {
	if row.Listed {
		call, _ := s.CallLogs.Get(Key{row.System, row.CallID})
		s.listOwn(own{ListAnalysis, &s.ExtensionAnalyses}, row.Key, row.CreatedAt, call.parties(), by)
	}
}

// newestFindings are those that a call shows: of the newest completed analysis by (createdAt, id).
func (s *State) newestFindings(call OwnerRowKey) Findings {
	newest, found := Analysis{}, false
	for _, key := range s.analysesOf[call] {
		row, live := s.Analyses.Get(key)
		if !live || row.Status != events.AnalysisCompleted {
			continue
		}
		if !found || row.CreatedAt > newest.CreatedAt || row.CreatedAt == newest.CreatedAt && follows(row.ID, newest.ID) {
			newest, found = row, true
		}
	}
	if !found {
		return Findings{RepresentativeState: representativeNotAnalyzed}
	}
	return newest.Findings
}

func follows(a, b uuid.UUID) bool { return slices.Compare(a[:], b[:]) > 0 }

// hideAnalyses takes a call's analyses out of their lists, and showAnalyses puts them in: between the two the call may change
// the extensions that it belongs to.
func (s *State) hideAnalyses(call OwnerRowKey) {
	for _, key := range s.analysesOf[call] {
		if row, live := s.Analyses.Get(key); live {
			s.listAnalysis(row, -1)
		}
	}
}

func (s *State) showAnalyses(call OwnerRowKey) {
	for _, key := range s.analysesOf[call] {
		if row, live := s.Analyses.Get(key); live {
			row.Listed = true
			s.Analyses.Put(key, row)
			s.listAnalysis(row, +1)
		}
	}
}
