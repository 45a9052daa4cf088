package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// The lists in day_count, named after their tables. Those of topology are named after their entities.
const (
	ListCallLog   = "call_log"
	ListRecording = "recording"
	ListAnalysis  = "analysis"
	ListVoicemail = "voicemail"
)

// The families of reference_count that are not kinds of classification.
const (
	FamilyCallGroup      = "call_group"
	FamilyExtension      = "extension"
	FamilyRepresentative = "representative"
)

// Deltas holds the changes to counters by key.
type Deltas[K comparable] map[K]int64

func (d *Deltas[K]) add(by int64, keys ...K) {
	if *d == nil {
		*d = make(Deltas[K])
	}
	for _, key := range keys {
		(*d)[key] += by
	}
}

// statusCountKeys returns the counters of a row in a list that can be filtered by status.
func statusCountKeys(system uuid.UUID, list, status string, createdAt events.Time) []CountKey {
	keys := []CountKey{{System: system, List: list, Day: Day(createdAt.Day())}}
	if status != "" {
		keys = append(keys, CountKey{System: system, List: list, Subset: status, Day: Day(createdAt.Day())})
	}
	return keys
}

// countPerExtension changes the counters of a call or an analysis by +1 or -1, both in the whole list and for each of
// the extensions, and adds the extensions' entries or deletes them.
func (s *State) countPerExtension(list string, key Key, createdAt events.Time, extensions []uuid.UUID, by int64) {
	day := Day(createdAt.Day())
	s.Counts.add(by, CountKey{System: key.System, List: list, Day: day})
	for _, extension := range extensions {
		s.Counts.add(by, CountKey{System: key.System, List: list, Subset: extension.String(), Day: day})
		entry := ExtensionEntry{key.System, extension, list == ListAnalysis, createdAt, key.ID}
		if by > 0 {
			s.ExtensionEntries.Put(entry, entry)
		} else {
			s.ExtensionEntries.Delete(entry)
		}
	}
}

// countReferences counts each thing that a call refers to once, whether it exists or not.
func (s *State) countReferences(call CallLog, by int64) {
	count := func(family, key string) { s.References.add(by, ReferenceKey{call.System, family, key}) }
	if call.CallGroupID.Valid {
		count(FamilyCallGroup, call.CallGroupID.Value.String())
	}
	for _, id := range call.extensions() {
		count(FamilyExtension, id.String())
	}
	if call.RepresentativeID.Valid {
		count(FamilyRepresentative, call.RepresentativeID.Value.String())
	}

	countCode := func(kind string, code events.Null[string]) {
		if code.Valid {
			count(kind, code.Value)
		}
	}
	countCode("category", call.Category)
	countCode("overall_sentiment", call.OverallSentiment.Code)
	countCode("employee_sentiment", call.EmployeeSentiment.Code)
	countCode("customer_sentiment", call.CustomerSentiment.Code)
}

// refersLike tells whether two rows of a call refer to the same things.
func (c CallLog) refersLike(other CallLog) bool {
	return c.CallGroupID == other.CallGroupID && c.AnsweredByExtensionID == other.AnsweredByExtensionID &&
		c.FromExtensionID == other.FromExtensionID && c.RepresentativeID == other.RepresentativeID && c.Category == other.Category &&
		c.OverallSentiment.Code == other.OverallSentiment.Code && c.EmployeeSentiment.Code == other.EmployeeSentiment.Code &&
		c.CustomerSentiment.Code == other.CustomerSentiment.Code
}
