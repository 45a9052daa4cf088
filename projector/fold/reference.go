package fold

import (
	"github.com/google/uuid"

	"callboard/events"
)

// The families of reference_count that are not kinds of classification.
const (
	FamilyCallGroup      = "call_group"
	FamilyExtension      = "extension"
	FamilyRepresentative = "representative"
)

// references are what a call refers to, each once, whether it is there or not.
func (c CallLog) references() []ReferenceKey {
	list := make([]ReferenceKey, 0, 8)
	refer := func(family, key string) { list = append(list, ReferenceKey{c.System, family, key}) }
	referID := func(family string, id events.Null[uuid.UUID]) {
		if id.Valid {
			refer(family, id.Value.String())
		}
	}
	referCode := func(kind string, code events.Null[string]) {
		if code.Valid {
			refer(kind, code.Value)
		}
	}
	referID(FamilyCallGroup, c.CallGroupID)
	for _, extension := range c.parties() {
		refer(FamilyExtension, extension.String())
	}
	referID(FamilyRepresentative, c.RepresentativeID)
	referCode("category", c.Category)
	referCode("overall_sentiment", c.OverallSentiment.Code)
	referCode("employee_sentiment", c.EmployeeSentiment.Code)
	referCode("customer_sentiment", c.CustomerSentiment.Code)
	return list
}
