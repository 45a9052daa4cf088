package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func callLogs() table[fold.CallLog] {
	type row = fold.CallLog
	return table[row]{"call_log", 2, append([]column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		textColumn("call_sid", func(r *row) *string { return &r.CallSid }),
		nullTextColumn("parent_call_sid", func(r *row) *events.Null[string] { return &r.ParentCallSid }),
		textColumn("direction", func(r *row) *string { return &r.Direction }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		nullTextColumn("outcome", func(r *row) *events.Null[string] { return &r.Outcome }),
		textColumn("from_party", func(r *row) *string { return &r.From }),
		nullTextColumn("from_display", func(r *row) *events.Null[string] { return &r.FromDisplay }),
		nullTextColumn("from_number", func(r *row) *events.Null[string] { return &r.FromNumber }),
		nullTextColumn("from_name", func(r *row) *events.Null[string] { return &r.FromName }),
		textColumn("to_party", func(r *row) *string { return &r.To }),
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
	}, findingsColumns(func(r *row) *fold.Findings { return &r.Findings })...)}
}
