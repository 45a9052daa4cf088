package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func voicemails() table[fold.Voicemail] {
	type row = fold.Voicemail
	return table[row]{"voicemail", 2, []column[row]{
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
	}}
}
