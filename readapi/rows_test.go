package readapi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

// columns are a row's columns by name.
type columns map[string]any

// insertRows inserts rows into a table of the projection, in partition 0. Columns that are not null and not given
// have defaults. The counts stay as they are: see [countRows].
func insertRows(tb testing.TB, pool *pgxpool.Pool, table string, rows ...columns) {
	tb.Helper()
	complete := make([]columns, len(rows))
	for i, given := range rows {
		complete[i] = defaultsOf(table)
		maps.Copy(complete[i], given)
		if relationOf(table) == "topology" {
			complete[i].render(tb, table)
		}
	}
	text, err := json.Marshal(complete)
	if err != nil {
		tb.Fatal(err)
	}
	name := "projection." + relationOf(table)
	schematest.Exec(tb, pool, "insert into "+name+" select * from json_populate_recordset(null::"+name+", $1)", text)
}

// defaultsOf returns the columns of a table that are not null, among others: PostgreSQL ignores columns that the
// table lacks.
func defaultsOf(table string) columns {
	const (
		id   = "7d9f4c1e-0000-4000-8000-000000000001"
		when = "2026-03-01T09:30:00.007Z"
	)
	all := columns{
		"partition": 0, "version": 1, "id": id, "created_at": when, "updated_at": when, "status": "active", "name": "", "number": "",
		"kind":     strings.ReplaceAll(table, "_", "-"),
		"call_sid": "CA1", "direction": "inbound", "from_party": "", "to_party": "",
		"is_emergency": false, "is_converted": false, "is_edited": false, "tags": []any{}, "transcription_status": "unavailable",
		"representative_state": "not_analyzed", "call_id": id, "coaching_tips": []any{}, "listed": true,
		"listened": false, "archived": false, "owner": "call", "owner_id": id,
	}
	maps.Copy(all, map[string]columns{
		"call_log":  {"status": "completed"},
		"analysis":  {"status": "pending"},
		"voicemail": {"duration": 0, "recording_sid": "RE1"},
		"recording": {"status": "ready", "recording_sid": "RE1"},
	}[table])
	return all
}

// relationOf returns the table of rows of a resource.
func relationOf(table string) string {
	switch table {
	case "phone", "phone_number", "extension", "agent_config", "call_group", "call_menu":
		return "topology"
	}
	return table
}

//go:embed testdata/topology.json
var topologyJSON []byte

// render adds the JSON of a row of topology, as the fold renders it.
func (c columns) render(tb testing.TB, table string) {
	tb.Helper()
	var all map[string]struct{ Row, Detail columns }
	if err := json.Unmarshal(topologyJSON, &all); err != nil {
		tb.Fatal(err)
	}
	row, detail := all[table].Row, all[table].Detail
	maps.Copy(row, columns{
		"id": c["id"], "phoneSystemId": c["system_id"], "status": c["status"], "createdAt": c["created_at"], "updatedAt": c["updated_at"],
	})
	if _, named := row["name"]; named {
		row["name"] = c["name"]
	}
	maps.Copy(detail, row)
	c["row"], c["detail"] = row, detail
}

//go:embed query/testdata/count.sql
var countSQL string

// countRows fills the tables that the projector derives from the rows: the counts per day, and the calls and
// analyses of each extension.
func countRows(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	schematest.Exec(tb, pool, countSQL)
}
