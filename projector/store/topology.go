package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func extensions() table[fold.Extension] {
	type row = fold.Extension
	return table[row]{"extension", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("number", func(r *row) *string { return &r.Number }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		asJSON(textColumn("assigned_phones", func(r *row) *string { return &r.AssignedPhones })),
		asJSON(nullTextColumn("unanswered_action", func(r *row) *events.Null[string] { return &r.UnansweredAction })),
		asJSON(nullTextColumn("voicemail_greeting", func(r *row) *events.Null[string] { return &r.VoicemailGreeting })),
	}}
}

func callGroups() table[fold.CallGroup] {
	type row = fold.CallGroup
	return table[row]{"call_group", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		textColumn("number", func(r *row) *string { return &r.Number }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		asJSON(textColumn("members", func(r *row) *string { return &r.Members })),
		textColumn("ring_pattern", func(r *row) *string { return &r.RingPattern }),
		asJSON(nullTextColumn("unanswered_action", func(r *row) *events.Null[string] { return &r.UnansweredAction })),
		asJSON(nullTextColumn("voicemail_greeting", func(r *row) *events.Null[string] { return &r.VoicemailGreeting })),
	}}
}

func phones() table[fold.Phone] {
	type row = fold.Phone
	return table[row]{"phone", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		nullUUIDColumn("extension_id", func(r *row) *events.Null[uuid.UUID] { return &r.ExtensionID }),
		nullTextColumn("device_role", func(r *row) *events.Null[string] { return &r.DeviceRole }),
		nullUUIDColumn("parent_phone_id", func(r *row) *events.Null[uuid.UUID] { return &r.ParentPhoneID }),
		nullIntColumn("slot", func(r *row) *events.Null[int64] { return &r.Slot }),
		nullTextColumn("mac_address", func(r *row) *events.Null[string] { return &r.MACAddress }),
		nullTextColumn("firmware", func(r *row) *events.Null[string] { return &r.Firmware }),
		asJSON(textColumn("hardware", func(r *row) *string { return &r.Hardware })),
	}}
}

func phoneNumbers() table[fold.PhoneNumber] {
	type row = fold.PhoneNumber
	return table[row]{"phone_number", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("phone_number", func(r *row) *string { return &r.PhoneNumber }),
		nullTextColumn("label", func(r *row) *events.Null[string] { return &r.Label }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		textColumn("origin", func(r *row) *string { return &r.Origin }),
		nullTextColumn("country", func(r *row) *events.Null[string] { return &r.Country }),
		boolColumn("is_primary", func(r *row) *bool { return &r.IsPrimary }),
	}}
}

func agentConfigs() table[fold.AgentConfig] {
	type row = fold.AgentConfig
	return table[row]{"agent_config", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		nullIntColumn("agent_number", func(r *row) *events.Null[int64] { return &r.AgentNumber }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
	}}
}

func callMenus() table[fold.CallMenu] {
	type row = fold.CallMenu
	return table[row]{"call_menu", 2, []column[row]{
		uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
		uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
		intColumn("version", func(r *row) *int64 { return &r.Version }),
		textColumn("name", func(r *row) *string { return &r.Name }),
		textColumn("status", func(r *row) *string { return &r.Status }),
		timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
		timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		asJSON(nullTextColumn("prompt", func(r *row) *events.Null[string] { return &r.Prompt })),
		asJSON(textColumn("choices", func(r *row) *string { return &r.Choices })),
		boolColumn("direct_extension_dialing", func(r *row) *bool { return &r.DirectExtensionDialing }),
		asJSON(nullTextColumn("no_input_action", func(r *row) *events.Null[string] { return &r.NoInputAction })),
	}}
}
