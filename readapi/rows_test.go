package readapi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

// columns are a row's columns by name.
type columns map[string]any

// insertRows inserts rows into a table of the projection, in partition 0. Columns that are not null and not given have defaults. The counts stay
// as they are: see [countRows].
func insertRows(tb testing.TB, pool *pgxpool.Pool, table string, rows ...columns) {
	tb.Helper()
	complete := make([]columns, len(rows))
	for i, given := range rows {
		complete[i] = defaultsOf(table)
		maps.Copy(complete[i], given)
	}
	text, err := json.Marshal(complete)
	if err != nil {
		tb.Fatal(err)
	}
	name := "projection." + table
	schematest.Exec(tb, pool, "insert into "+name+" select * from json_populate_recordset(null::"+name+", $1)", text)
}

// defaultsOf returns the columns of a table that are not null, among others: PostgreSQL ignores columns that the table lacks.
func defaultsOf(table string) columns {
	const (
		id   = "7d9f4c1e-0000-4000-8000-000000000001"
		when = "2026-03-01T09:30:00.007Z"
	)
	all := columns{
		"partition": 0, "version": 1, "id": id, "created_at": when, "updated_at": when, "status": "active", "name": "", "number": "",
		"hardware":     columns{"manufacturer": nil, "model": nil, "serialNumber": nil},
		"phone_number": "", "origin": "managed", "is_primary": false,
		"assigned_phones": []any{}, "members": []any{}, "ring_pattern": "", "choices": []any{}, "direct_extension_dialing": false,
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

//go:embed query/testdata/count.sql
var countSQL string

// countRows fills the tables that the projector derives from the rows: the counts per day, and the calls and analyses of each extension.
func countRows(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	schematest.Exec(tb, pool, countSQL)
}
