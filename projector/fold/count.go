package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// The lists in day_count, named after their tables.
const (
	ListExtension   = "extension"
	ListPhone       = "phone"
	ListPhoneNumber = "phone_number"
	ListAgentConfig = "agent_config"
	ListCallGroup   = "call_group"
	ListCallMenu    = "call_menu"
	ListCallLog     = "call_log"
	ListRecording   = "recording"
	ListAnalysis    = "analysis"
	ListVoicemail   = "voicemail"
)

// Deltas is by how much counters change.
type Deltas[K comparable] map[K]int64

func (t *Deltas[K]) add(by int64, keys ...K) {
	if *t == nil {
		*t = make(Deltas[K])
	}
	for _, key := range keys {
		(*t)[key] += by
	}
}

// byStatus are the places of a row in a list that can be filtered by status.
func byStatus(system uuid.UUID, list, status string, createdAt events.Time) []CountKey {
	places := []CountKey{{System: system, List: list, Day: createdAt.Day()}}
	if status != "" {
		places = append(places, CountKey{System: system, List: list, Subset: status, Day: createdAt.Day()})
	}
	return places
}

// own is a list of which keys narrowed to an extension see a part.
type own struct {
	name    string
	entries *Table[ExtensionEntry, ExtensionEntry]
}

// listOwn counts a row into a list, or out of it, for every extension whose narrowed keys see it and for all others.
func (s *State) listOwn(list own, key Key, createdAt events.Time, extensions []uuid.UUID, by int64) {
	day := createdAt.Day()
	s.Counts.add(by, CountKey{System: key.System, List: list.name, Day: day})
	for _, extension := range extensions {
		s.Counts.add(by, CountKey{System: key.System, List: list.name, Subset: extension.String(), Day: day})
		entry := ExtensionEntry{key.System, extension, createdAt, key.ID}
		if by > 0 {
			list.entries.Put(entry, entry)
		} else {
			list.entries.Delete(entry)
		}
	}
}
