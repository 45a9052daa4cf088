// Package querytest fills the projection's tables as the projector would, for tests of what reads them.
package querytest

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Row is a row's columns by name.
type Row map[string]any

// Insert inserts rows into a table, in partition 0. Columns that are not null and not given have defaults. It does not update the counts.
func Insert(tb testing.TB, pool *pgxpool.Pool, table string, rows ...Row) {
	tb.Helper()
	complete := make([]Row, len(rows))
	for i, row := range rows {
		complete[i] = defaults(table)
		maps.Copy(complete[i], row)
	}
	text, err := json.Marshal(complete)
	if err != nil {
		tb.Fatal(err)
	}
	name := "projection." + table
	exec(tb, pool, "insert into "+name+" select * from json_populate_recordset(null::"+name+", $1)", text)
}

func defaults(table string) Row {
	const (
		id   = "7d9f4c1e-0000-4000-8000-000000000001"
		when = "2026-03-01T09:30:00.007Z"
	)
	row := Row{"partition": 0, "version": 1, "id": id, "created_at": when, "status": "active"}
	with := func(more Row) Row {
		maps.Copy(row, more)
		return row
	}
	switch table {
	case "phone":
		return with(Row{"updated_at": when, "name": "", "hardware": Row{"manufacturer": nil, "model": nil, "serialNumber": nil}})
	case "phone_number":
		return with(Row{"updated_at": when, "phone_number": "", "origin": "managed", "is_primary": false})
	case "extension":
		return with(Row{"updated_at": when, "name": "", "number": "", "assigned_phones": []any{}})
	case "agent_config":
		return with(Row{"updated_at": when, "name": ""})
	case "call_group":
		return with(Row{"updated_at": when, "name": "", "number": "", "members": []any{}, "ring_pattern": ""})
	case "call_menu":
		return with(Row{"updated_at": when, "name": "", "choices": []any{}, "direct_extension_dialing": false})
	case "call_log":
		return with(Row{
			"updated_at": when, "status": "completed", "call_sid": "CA1", "direction": "inbound", "from_party": "", "to_party": "", "is_emergency": false,
			"is_converted": false, "is_edited": false, "tags": []any{}, "transcription_status": "unavailable",
			"representative_state": "not_analyzed",
		})
	case "analysis":
		return with(Row{
			"status": "pending", "call_id": id, "call_sid": "CA1", "coaching_tips": []any{}, "representative_state": "not_analyzed", "listed": true,
		})
	case "voicemail":
		return with(Row{
			"call_sid": "CA1", "from_party": "", "duration": 0, "listened": false, "archived": false, "recording_sid": "RE1",
		})
	case "recording":
		return with(Row{"status": "ready", "recording_sid": "RE1", "owner": "call", "owner_id": id, "call_sid": "CA1"})
	default:
		return Row{"partition": 0, "version": 1}
	}
}

// Count fills the tables that the projector derives from the rows: the counts per day, and the calls and analyses of each
// extension.
func Count(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	parts := []string{
		"select partition, system_id, 'call_log' as list, '' as subset, created_at from projection.call_log",
		"select partition, system_id, 'call_log', extension_id::text, created_at from projection.extension_call",
		"select partition, system_id, 'analysis', '', created_at from projection.analysis where listed",
		"select partition, system_id, 'analysis', extension_id::text, created_at from projection.extension_analysis",
		"select partition, system_id, 'voicemail', '', created_at from projection.voicemail",
	}
	const listed = " where call_sid is not null and status <> 'unavailable'"
	for table, condition := range map[string]string{
		"recording": listed, "phone": "", "phone_number": "", "extension": "", "agent_config": "", "call_group": "", "call_menu": "",
	} {
		for _, subset := range []string{"''", "status"} {
			parts = append(parts, "select partition, system_id, '"+table+"', "+subset+", created_at from projection."+table+condition)
		}
	}
	// One message is one transaction.
	exec(tb, pool, extensionsSQL+`
		insert into projection.day_count (partition, system_id, list, subset, day, count)
		select partition, system_id, list, subset, (created_at at time zone 'UTC')::date as day, count(*)
		from (`+strings.Join(parts, "\nunion all\n")+`) every
		group by partition, system_id, list, subset, day`)
}

const extensionsSQL = `
	truncate projection.day_count, projection.extension_call, projection.extension_analysis;
	insert into projection.extension_call (partition, system_id, extension_id, created_at, call_id)
	select partition, system_id, answered_by_extension_id, created_at, id
	from projection.call_log where answered_by_extension_id is not null
	union
	select partition, system_id, from_extension_id, created_at, id
	from projection.call_log where from_extension_id is not null;
	insert into projection.extension_analysis (partition, system_id, extension_id, created_at, analysis_id)
	select a.partition, a.system_id, e.extension_id, a.created_at, a.id
	from projection.analysis a
	join projection.extension_call e on e.partition = a.partition and e.system_id = a.system_id and e.call_id = a.call_id
	where a.listed;`

func exec(tb testing.TB, pool *pgxpool.Pool, sql string, arguments ...any) {
	tb.Helper()
	if _, err := pool.Exec(context.Background(), sql, arguments...); err != nil {
		tb.Fatalf("%.80s: %v", sql, err)
	}
}
