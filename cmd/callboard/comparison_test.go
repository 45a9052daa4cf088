package main

import (
	"testing"

	"github.com/google/uuid"

	"callboard/projector/rebuild"
)

const comparisonText = `analysis, phone system 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10: surplus row
message_count, partition 3, entity call: read is 10, expected 5
phone_system_group, global, id x: surplus row
call_log, phone system 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10, id 0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f: status is "a", expected null
call_log, phone system 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10, id 0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f: tags is "[\"\x1b\"]", expected []
Rows that differ and are not listed: 2.

table               rows  kind
analysis            1     surplus
call_log            3     changed
message_count       1     changed
phone_system_group  1     surplus
The projection has no call_log.new, table: another release built it, or its tables were altered.
WARNING: messages that were applied before and can't be read now: 1. The new rows lack their changes.
  message 17 (phones.1.x.call): "\x1bgone"
`

func TestWriteComparison(t *testing.T) {
	t.Parallel()
	system := uuid.MustParse(systemID)
	c := rebuild.Comparison{
		Changes: []rebuild.Change{
			{Table: "analysis", Kind: rebuild.KindSurplus, Rows: 1},
			{Table: "call_log", Kind: rebuild.KindChanged, Rows: 3},
			{Table: "message_count", Kind: rebuild.KindChanged, Rows: 1},
			{Table: "phone_system_group", Kind: rebuild.KindSurplus, Rows: 1},
		},
		Samples: []rebuild.Difference{
			{Table: "analysis", System: system, Kind: rebuild.KindSurplus},
			{
				Table: "message_count", Kind: rebuild.KindChanged,
				Key:    []rebuild.Value{{Column: "partition", Expected: "3"}, {Column: "entity", Expected: "call"}},
				Values: []rebuild.Value{{Column: "read", Served: "10", Expected: "5"}},
			},
			{Table: "phone_system_group", Kind: rebuild.KindSurplus, Key: []rebuild.Value{{Column: "id", Expected: "x"}}},
			{
				Table: "call_log", System: system, Kind: rebuild.KindChanged,
				Key:    []rebuild.Value{{Column: "system_id", Expected: systemID}, {Column: "id", Expected: ownCallID}},
				Values: []rebuild.Value{{Column: "status", Served: `"a"`, Expected: "null"}, {Column: "tags", Served: "[\"\x1b\"]", Expected: "[]"}},
			},
		},
		Unreadable:     []rebuild.UnreadableMessage{{Sequence: 17, Subject: "phones.1.x.call", Reason: "\x1bgone"}},
		MissingColumns: []string{"call_log.new", "table"},
	}
	if out := asText(comparisonLines(c)); out != comparisonText {
		t.Errorf("output =\n%s\nwant\n%s", out, comparisonText)
	}
}

func TestCorrection(t *testing.T) {
	t.Parallel()
	one := rebuild.Difference{Table: "call_log", System: uuid.MustParse(systemID), Kind: rebuild.KindSurplus}
	global := rebuild.Difference{Table: "phone_system_group", Kind: rebuild.KindSurplus}
	counts := rebuild.Difference{Table: messageCountTable, Kind: rebuild.KindChanged}
	const (
		byRebuild = "Run 'callboard rebuild' to correct this."
		byRepairs = "Run 'callboard repair --system ID' for each of these phone systems, or 'callboard rebuild', to correct this."
	)
	for name, c := range map[string]struct {
		found rebuild.Comparison
		want  string
	}{
		"phone systems":      {rebuild.Comparison{Samples: []rebuild.Difference{one, global}}, byRepairs},
		"message accounting": {rebuild.Comparison{Samples: []rebuild.Difference{one, counts}}, byRebuild},
		"missing column":     {rebuild.Comparison{MissingColumns: []string{"phone.name"}, Samples: []rebuild.Difference{one}}, byRebuild},
		"unreadable message": {
			rebuild.Comparison{Unreadable: []rebuild.UnreadableMessage{{}}, Samples: []rebuild.Difference{one}},
			"Make these messages readable again, for example by restoring the object of a transcript, and run 'callboard verify' again.",
		},
	} {
		if got := correction(c.found); got != c.want {
			t.Errorf("%s: correction = %q, want %q", name, got, c.want)
		}
	}
}
