package store

import (
	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

func phoneSystems() entity[fold.Key, fold.PhoneSystem] {
	type row = fold.PhoneSystem
	return entity[fold.Key, row]{
		table: newTable("phone_system", 1, []column[row]{
			uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("name", func(r *row) *string { return &r.Name }),
			nullUUIDColumn("organization_id", func(r *row) *events.Null[uuid.UUID] { return &r.OrganizationID }),
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.PhoneSystems },
		keyRow: func(k fold.Key) row { return row{ID: k.ID} },
		load:   func(s *fold.State, r row) { s.PhoneSystems.Load(fold.Key{System: r.ID, ID: r.ID}, r) },
	}
}

func groups() entity[fold.Key, fold.Group] {
	type row = fold.Group
	return entity[fold.Key, row]{
		table: newGlobalTable("phone_system_group", 1, []column[row]{
			uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("name", func(r *row) *string { return &r.Name }),
			uuidListColumn("phone_system_ids", func(r *row) *string { return &r.PhoneSystemIDs }),
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.Groups },
		keyRow: func(k fold.Key) row { return row{ID: k.ID} },
		load:   func(s *fold.State, r row) { s.Groups.Load(fold.Key{ID: r.ID}, r) },
	}
}

func groupMembers() entity[fold.GroupMember, fold.GroupMember] {
	type row = fold.GroupMember
	return entity[row, row]{
		table: newGlobalTable("phone_system_group_member", 2, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			uuidColumn("group_id", func(r *row) *uuid.UUID { return &r.Group }),
		}),
		rows:   func(s *fold.State) *fold.Table[row, row] { return &s.GroupMembers },
		keyRow: func(k row) row { return k },
	}
}

func extensions() entity[fold.Key, fold.Extension] {
	type row = fold.Extension
	return entity[fold.Key, row]{
		table: newTable("extension", 2, []column[row]{
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
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.Extensions },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.Extensions.Load(r.Key, r) },
	}
}

func callGroups() entity[fold.Key, fold.CallGroup] {
	type row = fold.CallGroup
	return entity[fold.Key, row]{
		table: newTable("call_group", 2, []column[row]{
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
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.CallGroups },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.CallGroups.Load(r.Key, r) },
	}
}

func phones() entity[fold.Key, fold.Phone] {
	type row = fold.Phone
	return entity[fold.Key, row]{
		table: newTable("phone", 2, []column[row]{
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
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.Phones },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.Phones.Load(r.Key, r) },
	}
}

func phoneNumbers() entity[fold.Key, fold.PhoneNumber] {
	type row = fold.PhoneNumber
	return entity[fold.Key, row]{
		table: newTable("phone_number", 2, []column[row]{
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
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.PhoneNumbers },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.PhoneNumbers.Load(r.Key, r) },
	}
}

func agentConfigs() entity[fold.Key, fold.AgentConfig] {
	type row = fold.AgentConfig
	return entity[fold.Key, row]{
		table: newTable("agent_config", 2, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("name", func(r *row) *string { return &r.Name }),
			nullIntColumn("agent_number", func(r *row) *events.Null[int64] { return &r.AgentNumber }),
			textColumn("status", func(r *row) *string { return &r.Status }),
			timeColumn("created_at", func(r *row) *events.Time { return &r.CreatedAt }),
			timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.AgentConfigs },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.AgentConfigs.Load(r.Key, r) },
	}
}

func callMenus() entity[fold.Key, fold.CallMenu] {
	type row = fold.CallMenu
	return entity[fold.Key, row]{
		table: newTable("call_menu", 2, []column[row]{
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
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.CallMenus },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.CallMenus.Load(r.Key, r) },
	}
}

func representatives() entity[fold.Key, fold.Representative] {
	type row = fold.Representative
	return entity[fold.Key, row]{
		table: newTable("representative", 2, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			uuidColumn("id", func(r *row) *uuid.UUID { return &r.ID }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("name", func(r *row) *string { return &r.Name }),
			textColumn("status", func(r *row) *string { return &r.Status }),
			timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		}),
		rows:   func(s *fold.State) *fold.Table[fold.Key, row] { return &s.Representatives },
		keyRow: func(k fold.Key) row { return row{Key: k} },
		load:   func(s *fold.State, r row) { s.Representatives.Load(r.Key, r) },
	}
}

func classifications() entity[fold.ClassificationKey, fold.Classification] {
	type row = fold.Classification
	return entity[fold.ClassificationKey, row]{
		table: newGlobalTable("classification", 3, []column[row]{
			uuidColumn("system_id", func(r *row) *uuid.UUID { return &r.System }),
			textColumn("kind", func(r *row) *string { return &r.Kind }),
			textColumn("code", func(r *row) *string { return &r.Code }),
			intColumn("version", func(r *row) *int64 { return &r.Version }),
			textColumn("label", func(r *row) *string { return &r.Label }),
			textColumn("status", func(r *row) *string { return &r.Status }),
			nullFloatColumn("score", func(r *row) *events.Null[float64] { return &r.Score }),
			timeColumn("updated_at", func(r *row) *events.Time { return &r.UpdatedAt }),
		}),
		rows:   func(s *fold.State) *fold.Table[fold.ClassificationKey, row] { return &s.Classifications },
		keyRow: func(k fold.ClassificationKey) row { return row{ClassificationKey: k} },
		load:   func(s *fold.State, r row) { s.Classifications.Load(r.ClassificationKey, r) },
	}
}
