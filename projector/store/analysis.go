package store

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func analyses() table[fold.Analysis] {
	type row = fold.Analysis
	return table[row]{"analysis", 2, append([]column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		uuidColumn("call_id", func(r *row) *uuid.UUID { return &r.CallID }),
		textColumn("call_sid", func(r *row) *string { return &r.CallSid }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		nullIntColumn("overall_score", func(r *row) *events.Null[int64] { return &r.OverallScore }),
		nullTimeColumn("analyzed_at", func(r *row) *events.Null[events.Time] { return &r.AnalyzedAt }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		asJSON(textColumn("coaching_tips", func(r *row) *string { return &r.CoachingTips })),
		boolColumn("listed", func(r *row) *bool { return &r.Listed }),
	}, findingsColumns(func(r *row) *fold.Findings { return &r.Findings })...)}
}

// findingsColumns are what a report row shows of an analysis, in the call's row and in the analysis's own.
func findingsColumns[R any](findings func(*R) *fold.Findings) []column[R] {
	sentiment := func(name string, field func(*fold.Findings) *fold.Sentiment) []column[R] {
		return []column[R]{
			nullTextColumn(name, func(r *R) *events.Null[string] { return &field(findings(r)).Code }),
			nullFloatColumn(name+"_score", func(r *R) *events.Null[float64] { return &field(findings(r)).Score }),
		}
	}
	return slices.Concat(
		[]column[R]{nullTextColumn("category", func(r *R) *events.Null[string] { return &findings(r).Category })},
		sentiment("overall_sentiment", func(f *fold.Findings) *fold.Sentiment { return &f.OverallSentiment }),
		sentiment("employee_sentiment", func(f *fold.Findings) *fold.Sentiment { return &f.EmployeeSentiment }),
		sentiment("customer_sentiment", func(f *fold.Findings) *fold.Sentiment { return &f.CustomerSentiment }),
		[]column[R]{
			nullTextColumn("sentiment_source", func(r *R) *events.Null[string] { return &findings(r).SentimentSource }),
			nullFloatColumn("scorecard_score", func(r *R) *events.Null[float64] { return &findings(r).ScorecardScore }),
			textColumn("representative_state", func(r *R) *string { return &findings(r).RepresentativeState }),
			nullUUIDColumn("representative_id", func(r *R) *events.Null[uuid.UUID] { return &findings(r).RepresentativeID }),
			nullFloatColumn("representative_confidence", func(r *R) *events.Null[float64] { return &findings(r).RepresentativeConfidence }),
			nullTextColumn("representative_source", func(r *R) *events.Null[string] { return &findings(r).RepresentativeSource }),
		},
	)
}
