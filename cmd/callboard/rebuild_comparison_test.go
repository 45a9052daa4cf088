package main

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/projector/rebuild"
)

const comparisonText = `call_analysis, phone system 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10: 109 rows served, should not be
call_log, phone system 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10, id 0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f: status: served "a", should be null
call_log, phone system 7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10, id 0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f: tags: served "[\"\x1b\"]", should be []
ledger, partition 3, entity call: served 10 read (5 applied, 5 stale, 0 ignored, 0 dead), should be 5 read (5 applied, 0 stale, 0 ignored, 0 dead)
phone_system_group, global, id x: served, should not be
More rows differ than are listed: of call_log.

TABLE               COLUMN  ROWS  DIFFERENCE
call_analysis       -       109   surplus
call_log            status  3     other
call_log            tags    1     other
ledger              counts  1     other
phone_system_group  -       1     surplus
The live projection lacks call_log.new, table: another release built it, or somebody changed it.
WARNING: messages that could be read once and can't be now: 1. What they said isn't in what is built from the stream now:
  message 17 (phones.1.x.call): "\x1bgone"
`

func TestWriteComparison(t *testing.T) {
	system := uuid.MustParse("7d0d6b8e-5b0a-4a55-9a3c-0f6f6f1f2a10")
	c := wholly(rebuild.Comparison{
		Changes: []rebuild.Change{
			{Table: "call_analysis", Kind: rebuild.KindSurplus, Rows: 109},
			{Table: "call_log", Kind: rebuild.KindChanged, Column: "status", Rows: 3},
			{Table: "call_log", Kind: rebuild.KindChanged, Column: "tags", Rows: 1},
			{Table: "message_count", Kind: rebuild.KindChanged, Column: "counts", Rows: 1},
			{Table: "phone_system_group", Kind: rebuild.KindSurplus, Rows: 1},
		},
		Samples: []rebuild.Difference{
			{Table: "call_analysis", System: system, Kind: rebuild.KindSurplus, Rows: 109},
			{
				Table: "message_count", Kind: rebuild.KindChanged, Rows: 1, Key: []rebuild.Value{{Column: "partition", Expected: "3"}, {Column: "entity", Expected: "call"}},
				Values: []rebuild.Value{{
					Column: "counts", Served: "10 read: 5 applied, 5 stale, 0 ignored, 0 dead", Expected: "5 read: 5 applied, 0 stale, 0 ignored, 0 dead",
				}},
			},
			{Table: "phone_system_group", Kind: rebuild.KindSurplus, Key: []rebuild.Value{{Column: "id", Expected: "x"}}},
			{
				Table: "call_log", System: system, Kind: rebuild.KindChanged,
				Key:    []rebuild.Value{{Column: "system_id", Expected: system.String()}, {Column: "id", Expected: "0b9f5d0e-2a43-4a0e-8a53-5c1b9c0d1e2f"}},
				Values: []rebuild.Value{{Column: "status", Served: `"a"`, Expected: "null"}, {Column: "tags", Served: "[\"\x1b\"]", Expected: "[]"}},
			},
		},
		Unreadable:     []rebuild.UnreadableMessage{{Sequence: 17, Subject: "phones.1.x.call", Reason: "\x1bgone"}},
		MissingColumns: []string{"call_log.new", "table"},
	})
	var out strings.Builder
	words := heldAgainst(map[rebuild.Kind]string{rebuild.KindChanged: "other", rebuild.KindSurplus: "surplus"})
	if err := writeComparison(&out, c, words); err != nil || out.String() != comparisonText {
		t.Errorf("%v\n%s", err, &out)
	}
}
