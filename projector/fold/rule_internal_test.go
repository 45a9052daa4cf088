package fold

import (
	"testing"

	"callboard/events"
)

// Every entity has a rule, and no rule is of another entity.
func TestRules_AreComplete(t *testing.T) {
	t.Parallel()
	rules := new(State).rules()
	for _, entity := range events.Entities() {
		if r := rules[entity]; r.need == nil || r.apply == nil {
			t.Errorf("%s has no complete rule", entity)
		}
	}
	if got, want := len(rules), len(events.Entities()); got != want {
		t.Errorf("rules = %d, want %d", got, want)
	}
}
