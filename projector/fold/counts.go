package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// The lists of row_count are named after their tables. The lists of topology are named after their entities.
const (
	ListCallLog   = "call_log"
	ListRecording = "recording"
	ListAnalysis  = "analysis"
	ListVoicemail = "voicemail"

	// ListReferences begins the name of a list of references. The rest is the family: call_group, extension,
	// representative, or a kind of classification.
	ListReferences = "reference/"
)

// Counts holds the changes to row_count. Some of them can be zero.
type Counts map[CountKey]int64

func (c *Counts) add(by int64, keys ...CountKey) {
	if *c == nil {
		*c = make(Counts)
	}
	for _, key := range keys {
		(*c)[key] += by
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
	count := func(list, subset string) {
		s.Counts.add(by, CountKey{System: call.System, List: list, Subset: subset})
	}

	if call.CallGroupID.Valid {
		count(ListReferences+"call_group", call.CallGroupID.Value.String())
	}
	for _, id := range call.extensions() {
		count(ListReferences+"extension", id.String())
	}
	if call.RepresentativeID.Valid {
		count(ListReferences+"representative", call.RepresentativeID.Value.String())
	}

	countCode := func(list string, code events.Null[string]) {
		if code.Valid {
			count(list, code.Value)
		}
	}

	countCode(ListReferences+"category", call.Category)
	countCode(ListReferences+"overall_sentiment", call.OverallSentiment.Code)
	countCode(ListReferences+"employee_sentiment", call.EmployeeSentiment.Code)
	countCode(ListReferences+"customer_sentiment", call.CustomerSentiment.Code)
}

// refersLike tells whether two rows of a call refer to the same things.
func (c CallLog) refersLike(other CallLog) bool {
	return c.CallGroupID == other.CallGroupID && c.AnsweredByExtensionID == other.AnsweredByExtensionID &&
		c.FromExtensionID == other.FromExtensionID && c.RepresentativeID == other.RepresentativeID &&
		c.Category == other.Category &&
		c.OverallSentiment.Code == other.OverallSentiment.Code && c.EmployeeSentiment.Code == other.EmployeeSentiment.Code &&
		c.CustomerSentiment.Code == other.CustomerSentiment.Code
}
