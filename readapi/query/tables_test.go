package query

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

// listDays is how many days have rows of the busy phone system.
const listDays = 41

// How many rows fill adds of what statements return whole.
const (
	systemsCount    = 6
	dimensionsCount = 5_000 + 200 + 4*7
)

//go:embed testdata/count.sql
var countSQL string

// fill adds six phone systems. The busy one has 4,000 calls over 40 days, a tenth of them the extension's, each
// with references, a recording, an analysis, a transcript and a voicemail. It has 2,000 rows of every other
// resource over the same time.
func fill(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	execAll(tb, pool, `insert into projection.position (partition, stream, sequence, epoch, clock, watermark)
		 select n, gen_random_uuid(), 1, 1, 'epoch', '2026-03-01 12:00Z' from generate_series(0, 15) n`,
		`insert into projection.phone_system (id, version, name, organization_id)
		 select overlay('b0000000-0000-4000-8000-000000000000' placing n::text from 36)::uuid, 1, 'system ' || n,
		   'a0000000-0000-4000-8000-000000000001'
		 from generate_series(1, 6) n`,
		`insert into projection.phone_system_group (id, version, name, phone_system_ids)
		 select 'a0000000-0000-4000-8000-000000000001', 1, 'all', array_agg(id) from projection.phone_system`,
		`insert into projection.phone_system_group_member (group_id, system_id)
		 select id, unnest(phone_system_ids) from projection.phone_system_group`)
	fillCalls(tb, pool)
	fillDirectory(tb, pool)
	execAll(tb, pool, countSQL)
	execAll(tb, pool, `insert into projection.row_count (system_id, list, subset, day, count)
		 select md5(s::text)::uuid, 'call_log', '', d, 1
		 from generate_series(1, 100) s, generate_series('2025-01-01'::date, '2026-01-01', '1 day') d`,
		`insert into projection.row_count (system_id, list, subset, day, count)
		 select '`+busyID+`'::uuid, 'reference/' || family, key, '1970-01-01', count
		 from (
		   select 'representative' as family, id::text as key, 8 as count from projection.representative
		   union all
		   select 'extension', md5('extension' || n)::uuid::text, 400 from generate_series(0, 99) n
		   union all
		   select 'call_group', id::text, 400 from (select id from projection.topology where kind = 'call-group' limit 100) g
		   union all
		   select k, 'code_' || n, 100
		   from generate_series(0, 6) n, unnest(array['category', 'overall_sentiment', 'employee_sentiment', 'customer_sentiment']) k
		 ) reference`)
}

func fillCalls(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	execAll(tb, pool, `insert into projection.call_log (
		   system_id, id, version, updated_at, call_sid, direction, status, from_party, to_party, created_at,
		   answered_by_extension_id, from_extension_id, call_group_id, representative_id,
		   category, overall_sentiment, employee_sentiment, customer_sentiment, transcript_text_bytes, transcript_turns_bytes,
		   is_emergency, is_converted, is_edited, tags, transcription_status, representative_state)
		 select s.id, gen_random_uuid(), 1, created_at, 'CA' || n / 3, 'inbound', 'completed', '+15550001', '+15550002', created_at,
		   case when n % 10 = 0 then 'e0000000-0000-4000-8000-000000000001'::uuid end, md5('extension' || n % 100)::uuid, gen_random_uuid(),
		   md5('representative' || n % 5000)::uuid,
		   'code_' || n % 7, 'code_1', 'code_2', 'code_3', 6, 2, false, false, false, '[]', 'completed', 'identified'
		 from projection.phone_system s, generate_series(1, 4000) n,
		   lateral (select '2026-03-01 12:00Z'::timestamptz - n * interval '40 days' / 4000 as created_at) t
		 where s.name = 'system 1' or n <= 400
		 order by n, s.id`,
		`insert into projection.recording (system_id, recording_sid, version, owner, owner_id, status, created_at, call_sid)
		 select system_id, 'RE' || id, 1, 'call', id, (array['ready', 'processing', 'unavailable'])[1 + abs(hashtext(id::text)) % 3], created_at, call_sid
		 from projection.call_log`,
		`insert into projection.analysis (
		   system_id, id, version, call_id, call_sid, status, created_at, coaching_tips, representative_state, listed)
		 select system_id, gen_random_uuid(), 1, id, call_sid, 'pending', created_at, '[]', 'not_analyzed', abs(hashtext(id::text)) % 20 > 0
		 from projection.call_log`,
		`insert into projection.voicemail (
		   system_id, id, version, call_sid, from_party, duration, listened, archived, recording_sid, created_at)
		 select system_id, gen_random_uuid(), 1, call_sid, from_party, 1, false, false, 'RE' || id, created_at
		 from projection.call_log`,
		`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		 select system_id, 'call', id, 'Hello.', '[]'::json from projection.call_log
		 union all
		 select system_id, 'voicemail', id, 'Hello.', '[]' from projection.voicemail`,
		`insert into projection.transcript (system_id, owner, owner_id, version, status)
		 select system_id, owner, owner_id, 1, 'completed' from projection.transcript_text`)
}

func fillDirectory(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	execAll(tb, pool, `insert into projection.topology (
		   system_id, kind, id, version, status, created_at, updated_at, name, number, extension_id, row, detail)
		 select '`+busyID+`', kind, gen_random_uuid(), 1, (array['ready', 'inactive'])[1 + n % 2], created_at, created_at, '', n % 900, gen_random_uuid(), '{}', '{}'
		 from generate_series(1, 2000) n,
		   unnest(array['phone', 'phone-number', 'extension', 'agent-config', 'call-group', 'call-menu']) kind,
		   lateral (select '2026-03-01 12:00Z'::timestamptz - n * interval '40 days' / 2000 as created_at) t`)
	execAll(tb, pool, `insert into projection.classification (system_id, kind, code, version, label, status, updated_at)
		 select case when s = 0 then '00000000-0000-0000-0000-000000000000' else md5(s::text)::uuid end, k, 'code_' || n, 1, 'Label', 'active', 'epoch'
		 from generate_series(0, 100) s, generate_series(1, 5) n, unnest(array['category', 'overall_sentiment', 'employee_sentiment', 'customer_sentiment']) k`,
		`insert into projection.representative (system_id, id, version, name, status, updated_at)
		 select '`+busyID+`', md5('representative' || n)::uuid, 1, 'Somebody', 'active', 'epoch' from generate_series(0, 4999) n`,
		`insert into projection.tombstone (system_id, entity, key, version, owner, owner_id)
		 select '`+busyID+`', entity, gen_random_uuid(), 1, '', '`+busyID+`'
		 from generate_series(1, 500), unnest(array['call', 'call-group', 'extension', 'representative']) entity`)
}

// disableAutovacuum leaves the statistics to the test.
func disableAutovacuum(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	for _, table := range tables(tb, pool) {
		execAll(tb, pool, "alter table projection."+table+" set (autovacuum_enabled = off)")
	}
}

func vacuumAnalyze(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	execAll(tb, pool, "vacuum analyze")
}

// forgetStatistics leaves the tables as if they had never been analyzed, with the statistics that the schema begins
// with.
func forgetStatistics(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	execAll(tb, pool, `delete from pg_statistic s using pg_attribute a, pg_class c
		 where attrelid = starelid and attnum = staattnum and attname <> 'partition' and c.oid = starelid and relnamespace = 'projection'::regnamespace`,
		`update pg_class set reltuples = -1, relpages = 0, relallvisible = 0 where relnamespace = 'projection'::regnamespace`)
}

// shuffle puts the tables' rows in a random order.
func shuffle(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	for _, table := range tables(tb, pool) {
		execAll(tb, pool, strings.ReplaceAll(`create table shuffled as select * from projection.{} order by random();
			truncate projection.{}; insert into projection.{} select * from shuffled; drop table shuffled`, "{}", table))
	}
}

func tables(tb testing.TB, pool *pgxpool.Pool) []string {
	tb.Helper()
	rows, _ := pool.Query(tb.Context(), "select tablename::text from pg_tables where schemaname = 'projection'")
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func execAll(tb testing.TB, pool *pgxpool.Pool, statements ...string) {
	tb.Helper()
	for _, sql := range statements {
		schematest.Exec(tb, pool, sql)
	}
}
