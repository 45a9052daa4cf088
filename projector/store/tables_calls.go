package store

import (
	"slices"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func callLogs() entity[fold.Key, fold.CallLog] {
	type row = fold.CallLog
	return entity[fold.Key, row]{
		table: newTable("call_log", 2, append([]column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
			textColumn("call_sid", func(r *row) *string { return &r.CallSid }),
			nullTextColumn("parent_call_sid", func(r *row) *events.Null[string] { return &r.ParentCallSid }),
			textColumn("direction", func(r *row) *string { return &r.Direction }),
			textColumn("status", func(r *row) *string { return &r.Status }),
			nullTextColumn("outcome", func(r *row) *events.Null[string] { return &r.Outcome }),
			nullTextColumn("from_party", func(r *row) *events.Null[string] { return &r.From }),
			nullTextColumn("from_display", func(r *row) *events.Null[string] { return &r.FromDisplay }),
			nullTextColumn("from_number", func(r *row) *events.Null[string] { return &r.FromNumber }),
			nullTextColumn("from_name", func(r *row) *events.Null[string] { return &r.FromName }),
			nullTextColumn("to_party", func(r *row) *events.Null[string] { return &r.To }),
			nullTextColumn("to_display", func(r *row) *events.Null[string] { return &r.ToDisplay }),
			nullTextColumn("to_number", func(r *row) *events.Null[string] { return &r.ToNumber }),
			nullTextColumn("forwarded_from", func(r *row) *events.Null[string] { return &r.ForwardedFrom }),
			timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
			nullTimeColumn("start_time", func(r *row) *events.Null[events.Time] { return &r.StartTime }),
			nullTimeColumn("end_time", func(r *row) *events.Null[events.Time] { return &r.EndTime }),
			nullIntColumn("duration", func(r *row) *events.Null[int64] { return &r.Duration }),
			nullUUIDColumn("call_group_id", func(r *row) *events.Null[uuid.UUID] { return &r.CallGroupID }),
			nullUUIDColumn("answered_by_extension_id", func(r *row) *events.Null[uuid.UUID] { return &r.AnsweredByExtensionID }),
			nullUUIDColumn("from_extension_id", func(r *row) *events.Null[uuid.UUID] { return &r.FromExtensionID }),
			boolColumn("is_emergency", func(r *row) *bool { return &r.IsEmergency }),
			nullTextColumn("route_summary", func(r *row) *events.Null[string] { return &r.RouteSummary }),
			nullTextColumn("call_outcome_code", func(r *row) *events.Null[string] { return &r.CallOutcomeCode }),
			boolColumn("is_converted", func(r *row) *bool { return &r.IsConverted }),
			nullTextColumn("conversion_value", func(r *row) *events.Null[string] { return &r.ConversionValue }),
			nullTextColumn("outcome_source", func(r *row) *events.Null[string] { return &r.OutcomeSource }),
			boolColumn("is_edited", func(r *row) *bool { return &r.IsEdited }),
			asJSON(textColumn("tags", func(r *row) *string { return &r.Tags })),
			textColumn("transcription_status", func(r *row) *string { return &r.Transcription.Status }),
			digestColumn("transcript_digest", func(r *row) *events.Null[[32]byte] { return &r.Transcription.Digest }),
			nullIntColumn("transcript_text_bytes", func(r *row) *events.Null[int64] { return &r.Transcription.TextBytes }),
			nullIntColumn("transcript_turns_bytes", func(r *row) *events.Null[int64] { return &r.Transcription.TurnsBytes }),
			nullTextColumn("recording_sid", func(r *row) *events.Null[string] { return &r.RecordingSid }),
			nullIntColumn("recording_duration", func(r *row) *events.Null[int64] { return &r.RecordingDuration }),
		}, findingsColumns(func(r *row) *fold.Findings { return &r.Findings })...)),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.CallLogs },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.CallLogs.Load(r.Key, r) },
	}
}

// findingsColumns are those columns of an analysis that a report row shows. The row of its call has them, too.
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

func extensionCalls() entity[fold.ExtensionEntry, fold.ExtensionEntry] {
	return extensionEntries("extension_call", "call_id",
		func(s *fold.State) *fold.Table[fold.ExtensionEntry, fold.ExtensionEntry] { return &s.ExtensionCalls })
}

func extensionAnalyses() entity[fold.ExtensionEntry, fold.ExtensionEntry] {
	return extensionEntries("extension_analysis", "analysis_id",
		func(s *fold.State) *fold.Table[fold.ExtensionEntry, fold.ExtensionEntry] { return &s.ExtensionAnalyses })
}

func extensionEntries(name, id string, rows func(*fold.State) *fold.Table[fold.ExtensionEntry, fold.ExtensionEntry]) entity[fold.ExtensionEntry, fold.ExtensionEntry] {
	type row = fold.ExtensionEntry
	return entity[row, row]{
		table: newTable(name, 4, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			uuidColumn("extension_id", func(r *row) *uuid.UUID { return &r.Extension }),
			timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
			uuidColumn(id, func(r *row) *uuid.UUID { return &r.ID }),
		}),
		rows:   rows,
		keyRow: func(k row) row { return k },
	}
}

func transcripts() entity[fold.OwnerRowKey, fold.Transcript] {
	type row = fold.Transcript
	return entity[fold.OwnerRowKey, row]{
		table: newTable("transcript", 3, append(ownerRowColumns(func(r *row) *fold.OwnerRowKey { return &r.OwnerRowKey }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("status", func(r *row) *string { return &r.Status }),
			digestColumn("digest", func(r *row) *events.Null[[32]byte] { return &r.Digest }),
			nullIntColumn("text_bytes", func(r *row) *events.Null[int64] { return &r.TextBytes }),
			nullIntColumn("turns_bytes", func(r *row) *events.Null[int64] { return &r.TurnsBytes }),
		)),
		rows:   func(s *fold.State) *fold.Table[fold.OwnerRowKey, row] { return &s.Transcripts },
		keyRow: func(k fold.OwnerRowKey) row { return row{OwnerRowKey: k} },
		load:   func(s *fold.State, r row) { s.Transcripts.Load(r.OwnerRowKey, r) },
	}
}

func transcriptTexts() entity[fold.OwnerRowKey, fold.TranscriptText] {
	type row = fold.TranscriptText
	return entity[fold.OwnerRowKey, row]{
		table: newTable("transcript_text", 3, append(ownerRowColumns(func(r *row) *fold.OwnerRowKey { return &r.OwnerRowKey }),
			textColumn("text", func(r *row) *string { return &r.Text }),
			asJSON(textColumn("turns", func(r *row) *string { return &r.Turns })),
		)),
		rows:   func(s *fold.State) *fold.Table[fold.OwnerRowKey, row] { return &s.TranscriptTexts },
		keyRow: func(k fold.OwnerRowKey) row { return row{OwnerRowKey: k} },
	}
}

func ownerRowColumns[R any](key func(*R) *fold.OwnerRowKey) []column[R] {
	return []column[R]{
		uuidColumn("system_id", func(r *R) *uuid.UUID { return &key(r).System }),
		uuidColumn("owner_id", func(r *R) *uuid.UUID { return &key(r).ID }),
		textColumn("owner", func(r *R) *events.Entity { return &key(r).Entity }),
	}
}

func recordings() entity[fold.RecordingKey, fold.Recording] {
	type row = fold.Recording
	return entity[fold.RecordingKey, row]{
		table: newTable("recording", 2, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			textColumn("recording_sid", func(r *row) *string { return &r.Sid }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("owner", func(r *row) *events.Entity { return &r.OwnerRow.Entity }),
			uuidColumn("owner_id", func(r *row) *uuid.UUID { return &r.OwnerRow.ID }),
			textColumn("status", func(r *row) *string { return &r.Status }),
			nullIntColumn("duration", func(r *row) *events.Null[int64] { return &r.Duration }),
			timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
			nullTextColumn("audio_key", func(r *row) *events.Null[string] { return &r.AudioKey }),
			nullTextColumn("audio_content_type", func(r *row) *events.Null[string] { return &r.AudioContentType }),
			nullIntColumn("audio_bytes", func(r *row) *events.Null[int64] { return &r.AudioBytes }),
			nullTextColumn("call_sid", func(r *row) *events.Null[string] { return &r.CallSid }),
		}).withReferenced("r.recording_sid", "recording", "owner_id"),
		rows:   func(s *fold.State) *fold.Table[fold.RecordingKey, row] { return &s.Recordings },
		keyRow: func(k fold.RecordingKey) row { return row{RecordingKey: k} },
		load:   func(s *fold.State, r row) { s.LoadRecording(r) },
	}
}

func analyses() entity[fold.Key, fold.Analysis] {
	type row = fold.Analysis
	return entity[fold.Key, row]{
		table: newTable("analysis", 2, append([]column[row]{
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
		}, findingsColumns(func(r *row) *fold.Findings { return &r.Findings })...)).withReferenced("r.id", "analysis", "call_id"),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.Analyses },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.LoadAnalysis(r) },
	}
}

func voicemails() entity[fold.Key, fold.Voicemail] {
	type row = fold.Voicemail
	return entity[fold.Key, row]{
		table: newTable("voicemail", 2, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("call_sid", func(r *row) *string { return &r.CallSid }),
			textColumn("from_party", func(r *row) *string { return &r.From }),
			nullTextColumn("from_name", func(r *row) *events.Null[string] { return &r.FromName }),
			intColumn("duration", func(r *row) *int64 { return &r.Duration }),
			nullUUIDColumn("extension_id", func(r *row) *events.Null[uuid.UUID] { return &r.ExtensionID }),
			nullUUIDColumn("call_group_id", func(r *row) *events.Null[uuid.UUID] { return &r.CallGroupID }),
			boolColumn("listened", func(r *row) *bool { return &r.Listened }),
			boolColumn("archived", func(r *row) *bool { return &r.Archived }),
			textColumn("recording_sid", func(r *row) *string { return &r.RecordingSid }),
			timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.Voicemails },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.Voicemails.Load(r.Key, r) },
	}
}

func tombstones() entity[fold.TombstoneKey, fold.Tombstone] {
	type row = fold.Tombstone
	return entity[fold.TombstoneKey, row]{
		table: newTable("tombstone", 3, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			textColumn("entity", func(r *row) *events.Entity { return &r.Entity }),
			textColumn("key", func(r *row) *string { return &r.Key }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("owner", func(r *row) *events.Entity { return &r.OwnerRow.Entity }),
			uuidColumn("owner_id", func(r *row) *uuid.UUID { return &r.OwnerRow.ID }),
		}).withReferencedTargets(),
		rows:   func(s *fold.State) *fold.Table[fold.TombstoneKey, row] { return &s.Tombstones },
		keyRow: func(k fold.TombstoneKey) row { return row{TombstoneKey: k} },
		load:   func(s *fold.State, r row) { s.Tombstones.Load(r.TombstoneKey, r) },
	}
}
