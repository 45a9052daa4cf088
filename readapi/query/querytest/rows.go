// Package querytest fills the projection's tables as the projector would, for tests of what reads them.
package querytest

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Row is a row's columns by name.
type Row map[string]any

// bare are the columns that a row of the table can't be without.
func bare(table string) Row {
	const (
		id   = "7d9f4c1e-0000-4000-8000-000000000001"
		when = "2026-03-01T09:30:00.007Z"
	)
	row := Row{"version": 1, "id": id, "created_at": when, "status": "active"}
	entity := func(more Row) Row {
		maps.Copy(row, more)
		return row
	}
	switch table {
	case "phone":
		return entity(Row{"updated_at": when, "name": "", "hardware": Row{"manufacturer": nil, "model": nil, "serialNumber": nil}})
	case "phone_number":
		return entity(Row{"updated_at": when, "phone_number": "", "origin": "managed", "is_primary": false})
	case "extension":
		return entity(Row{"updated_at": when, "name": "", "number": "", "assigned_phones": []any{}})
	case "agent_config":
		return entity(Row{"updated_at": when, "name": ""})
	case "call_group":
		return entity(Row{"updated_at": when, "name": "", "number": "", "members": []any{}, "ring_pattern": ""})
	case "call_menu":
		return entity(Row{"updated_at": when, "name": "", "choices": []any{}, "direct_extension_dialing": false})
	case "call_log":
		return entity(Row{
			"updated_at": when, "status": "completed", "call_sid": "CA1", "direction": "inbound", "from_party": "", "to_party": "", "is_emergency": false,
			"is_converted": false, "is_edited": false, "tags": []any{}, "transcription_status": "unavailable",
			"representative_state": "not_analyzed",
		})
	case "analysis":
		return entity(Row{
			"status": "pending", "call_id": id, "call_sid": "CA1", "coaching_tips": []any{}, "representative_state": "not_analyzed", "listed": true,
		})
	case "voicemail":
		return entity(Row{
			"call_sid": "CA1", "from_party": "", "duration": 0, "listened": false, "archived": false, "recording_sid": "RE1",
		})
	case "recording":
		return entity(Row{"status": "ready", "recording_sid": "RE1", "owner": "call", "owner_id": id, "call_sid": "CA1"})
	default:
		return Row{"version": 1}
	}
}

// Put inserts rows of a table. What they don't say is filled in where there must be something. The counts are not touched.
func Put(tb testing.TB, pool *pgxpool.Pool, table string, rows ...Row) {
	tb.Helper()
	whole := make([]Row, len(rows))
	for i, row := range rows {
		whole[i] = bare(table)
		maps.Copy(whole[i], row)
	}
	text, err := json.Marshal(whole)
	if err != nil {
		tb.Fatal(err)
	}
	name := "projection." + table
	exec(tb, pool, "insert into "+name+" select * from json_populate_recordset(null::"+name+", $1)", text)
}

func exec(tb testing.TB, pool *pgxpool.Pool, sql string, arguments ...any) {
	tb.Helper()
	if _, err := pool.Exec(context.Background(), sql, arguments...); err != nil {
		tb.Fatalf("%.80s: %v", sql, err)
	}
}
