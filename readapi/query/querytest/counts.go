package querytest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Count makes what the projector keeps beside a list's rows: how many there are per day, and what keys narrowed to an extension
// see.
func Count(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	parts := []string{
		"select system_id, 'call_log' as list, '' as subset, created_at from projection.call_log",
		"select system_id, 'call_log', extension_id::text, created_at from projection.extension_call",
		"select system_id, 'analysis', '', created_at from projection.analysis where listed",
		"select system_id, 'analysis', extension_id::text, created_at from projection.extension_analysis",
		"select system_id, 'voicemail', '', created_at from projection.voicemail",
	}
	const shown = " where call_sid is not null and status <> 'unavailable'"
	for table, condition := range map[string]string{
		"recording": shown, "phone": "", "phone_number": "", "extension": "", "agent_config": "", "call_group": "", "call_menu": "",
	} {
		for _, subset := range []string{"''", "status"} {
			parts = append(parts, "select system_id, '"+table+"', "+subset+", created_at from projection."+table+condition)
		}
	}
	// One message, hence one transaction.
	exec(tb, pool, ownSQL+`
		insert into projection.day_count (system_id, list, subset, day, count)
		select system_id, list, subset, (created_at at time zone 'UTC')::date as day, count(*)
		from (`+strings.Join(parts, "\nunion all\n")+`) every
		group by system_id, list, subset, day`)
}

const ownSQL = `
	truncate projection.day_count, projection.extension_call, projection.extension_analysis;
	insert into projection.extension_call (system_id, extension_id, created_at, call_id)
	select system_id, answered_by_extension_id, created_at, id
	from projection.call_log where answered_by_extension_id is not null
	union
	select system_id, from_extension_id, created_at, id
	from projection.call_log where from_extension_id is not null;
	insert into projection.extension_analysis (system_id, extension_id, created_at, analysis_id)
	select a.system_id, e.extension_id, a.created_at, a.id
	from projection.analysis a
	join projection.extension_call e on e.system_id = a.system_id and e.call_id = a.call_id
	where a.listed;`
