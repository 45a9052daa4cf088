package schema_test

import (
	"testing"

	"callboard/schema/schematest"
)

// The sender is the process that connects to strangers, so it reads no call data. The projector and the reader see no
// receiver's URL.
func TestRoles_AroundWebhooks(t *testing.T) {
	database := schematest.New(t)
	for role, queries := range map[string]map[string]bool{ // whether each is permitted
		"callboard_webhooks": {
			"select from projection.phone_system":                                                true,
			"select from projection.phone_system_group_member":                                   true,
			"select from projection.position":                                                    true,
			"select secrets from webhook.endpoint":                                               true,
			"select from projection.call_log":                                                    false,
			"select from projection.voicemail":                                                   false,
			"select from projection.transcript_text":                                             false,
			"select from projection.recording":                                                   false,
			"select from access.key":                                                             false,
			"select from control.dead_letter":                                                    false,
			"update webhook.endpoint set url = ''":                                               false,
			"update webhook.endpoint set secrets = '[]'":                                         false,
			"insert into webhook.endpoint (secrets) values ('[]')":                               false,
			"select webhook.open_day('notice', '2026-03-02'), webhook.drop_before('2026-03-02')": true,
		},
		"callboard_projector": {
			"select used from webhook.in_use":          true,
			"select from webhook.floor":                true,
			"select from webhook.endpoint":             false,
			"select from webhook.delivery":             false,
			"select from webhook.notice":               false,
			"select webhook.drop_before('2026-03-02')": false,
		},
		"callboard_operator": {
			"select id, url from webhook.endpoint": true,
			"select secrets from webhook.endpoint": true, // for a backup; only the key opens them
		},
		"callboard_reader": {
			"select from webhook.endpoint": false,
			"select from webhook.notice":   false,
		},
	} {
		for query, permitted := range queries {
			requireRight(t, database, role, query, permitted)
		}
	}
}

func TestWebhookDays(t *testing.T) {
	pool := schematest.New(t).Pool(t)
	for _, step := range []struct {
		statement, query, want string
	}{
		{"select webhook.open_day(kind, day) from unnest('{notice, finished, notice}'::text[]) kind, unnest('{2026-03-02, 2026-03-03}'::date[]) day",
			"select string_agg(name, ' ' order by first, name) from webhook.day",
			"finished_20260302 notice_20260302 finished_20260303 notice_20260303"},
		{"insert into webhook.notice select gen_random_uuid(), 0, n, 0, 'e', 'k', gen_random_uuid(), 'CA1', null, null, null, now(), null, at " +
			"from (values (1, '2026-03-02 12:00Z'::timestamptz), (2, '2026-03-04Z')) v (n, at)",
			"select string_agg(tableoid::regclass::text, ' ' order by sequence) from webhook.notice", "webhook.notice_20260302 webhook.notice_default"},
		{"select", "select webhook.open_day('notice', '2026-03-04')::text", "false"}, // its rows are in the default partition
		{"select webhook.drop_before('2026-03-03')", "select webhook.drop_before('2026-03-03')::text", "true"},
		{"select", "select webhook.drop_before('2026-03-03')::text", "false"},
		{"select", "select string_agg(sequence::text, ' ') from webhook.notice", "2"},
		{"select webhook.drop_before('2026-03-06') from generate_series(1, 3)", "select count(*)::text from webhook.notice", "0"},
	} {
		schematest.Exec(t, pool, step.statement)
		var got string
		if err := pool.QueryRow(t.Context(), step.query).Scan(&got); err != nil || got != step.want {
			t.Errorf("after %q: %q = %q, %v, want %q", step.statement, step.query, got, err, step.want)
		}
	}
}
