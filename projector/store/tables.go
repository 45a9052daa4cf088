package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func phoneSystems() table[fold.PhoneSystem] {
	type row = fold.PhoneSystem
	return table[row]{"phone_system", 1, []column[row]{
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		nullUUIDColumn("organization_id", func(r *row) *events.Null[uuid.UUID] { return &r.OrganizationID }),
		intColumn("partition", func(r *row) *int16 { return &r.Partition }),
	}}
}

func groups() table[fold.Group] {
	type row = fold.Group
	return table[row]{"phone_system_group", 1, []column[row]{
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		uuidListColumn("phone_system_ids", func(r *row) *string { return &r.PhoneSystemIDs }),
	}}
}

func extensionCalls() table[fold.ExtensionEntry] { return ownEntries("extension_call", "call_id") }

func extensionAnalyses() table[fold.ExtensionEntry] {
	return ownEntries("extension_analysis", "analysis_id")
}

func ownEntries(name, id string) table[fold.ExtensionEntry] {
	type row = fold.ExtensionEntry
	return table[row]{name, 4, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("extension_id", func(r *row) *uuid.UUID { return &r.Extension }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		uuidColumn(id, func(r *row) *uuid.UUID { return &r.ID }),
	}}
}

func transcripts() table[fold.Transcript] {
	type row = fold.Transcript
	return table[row]{"transcript", 3, append(ownerColumns(func(r *row) *fold.OwnerRowKey { return &r.OwnerRowKey }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		digestColumn("digest", func(r *row) *events.Null[[32]byte] { return &r.Digest }),
		nullIntColumn("text_bytes", func(r *row) *events.Null[int64] { return &r.TextBytes }),
		nullIntColumn("turns_bytes", func(r *row) *events.Null[int64] { return &r.TurnsBytes }),
	)}
}

func transcriptTexts() table[fold.TranscriptText] {
	type row = fold.TranscriptText
	return table[row]{"transcript_text", 3, append(ownerColumns(func(r *row) *fold.OwnerRowKey { return &r.OwnerRowKey }),
		textColumn("text", func(r *row) *string { return &r.Text }),
		asJSON(textColumn("turns", func(r *row) *string { return &r.Turns })),
	)}
}

func ownerColumns[R any](key func(*R) *fold.OwnerRowKey) []column[R] {
	return []column[R]{
		uuidColumn("system_id", func(r *R) *uuid.UUID { return &key(r).System }),
		uuidColumn("owner_id", func(r *R) *uuid.UUID { return &key(r).ID }),
		textColumn("owner", func(r *R) *events.Entity { return &key(r).Entity }),
	}
}

func recordings() table[fold.Recording] {
	type row = fold.Recording
	return table[row]{"recording", 2, []column[row]{
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
	}}
}

func tombstones() table[fold.Tombstone] {
	type row = fold.Tombstone
	return table[row]{"tombstone", 3, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		textColumn("entity", func(r *row) *events.Entity { return &r.Entity }),
		textColumn("key", func(r *row) *string { return &r.Key }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("owner", func(r *row) *events.Entity { return &r.OwnerRow.Entity }),
		uuidColumn("owner_id", func(r *row) *uuid.UUID { return &r.OwnerRow.ID }),
	}}
}
