package main

import (
	"testing"

	"github.com/google/uuid"

	"callboard/projector/rebuild"
)

func TestRemedy(t *testing.T) {
	id := uuid.MustParse("7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10")
	one := rebuild.Difference{Table: "call_log", System: id, Kind: rebuild.KindSurplus, Rows: 1}
	global := rebuild.Difference{Table: "phone_system_group", Kind: rebuild.KindSurplus, Rows: 1}
	surplus := rebuild.Change{Table: "call_log", Kind: rebuild.KindSurplus, Rows: 1}
	many := rebuild.Change{Table: "call_log", Kind: rebuild.KindSurplus, Rows: 2}
	const (
		anew = "'callboard rebuild' makes it right."
		each = "'callboard repair --system ID' for each of the phone systems, or 'callboard rebuild', makes it right."
	)
	for name, c := range map[string]struct {
		found rebuild.Comparison
		want  string
	}{
		"one phone system": {
			rebuild.Comparison{Changes: []rebuild.Change{surplus}, Samples: []rebuild.Difference{one}},
			"'callboard repair --system " + id.String() + "' or 'callboard rebuild' makes it right.",
		},
		"what belongs to none": {
			rebuild.Comparison{Samples: []rebuild.Difference{global}}, "'callboard repair --system global' or 'callboard rebuild' makes it right.",
		},
		"several":            {rebuild.Comparison{Changes: []rebuild.Change{surplus}, Samples: []rebuild.Difference{one, global}}, each},
		"perhaps several":    {rebuild.Comparison{Changes: []rebuild.Change{many}, Samples: []rebuild.Difference{one}}, each},
		"the ledger":         {rebuild.Comparison{Samples: []rebuild.Difference{one, {Table: ledger, Kind: rebuild.KindChanged, Rows: 1}}}, anew},
		"a column":           {rebuild.Comparison{MissingColumns: []string{"phone.name"}, Samples: []rebuild.Difference{one}}, anew},
		"unreadable message": {rebuild.Comparison{Unreadable: []rebuild.UnreadableMessage{{}}, Samples: []rebuild.Difference{one}}, "Make these messages readable again, a transcript's object that is gone for example, and verify again."},
	} {
		if got := remedy(c.found); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
