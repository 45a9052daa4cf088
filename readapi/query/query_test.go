package query

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"callboard/events/eventstest"
	"callboard/readapi/query/querytest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

// The identifiers that the statements' arguments have.
const (
	busyID      = "b0000000-0000-4000-8000-000000000001"
	extensionID = "e0000000-0000-4000-8000-000000000001"
	groupID     = "a0000000-0000-4000-8000-000000000001"
)

// fill adds six phone systems. The busy one has 40,000 calls over 400 days, a tenth of them the extension's, each with a recording,
// an analysis and a voicemail. It has 10,000 rows of every other resource over the same time.
func fill(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	statements := []string{
		`insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		 select n, 'PHONES', 'epoch', 1, 1, 'epoch', '2026-03-01 12:00Z' from generate_series(0, 15) n`,
		`insert into projection.phone_system (id, version, name, organization_id, partition)
		 select overlay('b0000000-0000-4000-8000-000000000000' placing n::text from 36)::uuid, 1, 'system ' || n, gen_random_uuid(), n
		 from generate_series(1, 6) n`,
		`insert into projection.phone_system_group (id, version, name, phone_system_ids)
		 select 'a0000000-0000-4000-8000-000000000001', 1, 'all', array_agg(id) from projection.phone_system`,
		`insert into projection.call_log (
		   system_id, id, version, updated_at, call_sid, direction, status, from_party, to_party, created_at,
		   answered_by_extension_id, is_emergency, is_converted, is_edited, tags, transcription_status, representative_state)
		 select s.id, gen_random_uuid(), 1, 'epoch', 'CA' || n / 3, 'inbound', 'completed', '+15550001', '+15550002',
		   '2026-03-01 12:00Z'::timestamptz - n * interval '400 days' / 40000,
		   case when n % 10 = 0 then 'e0000000-0000-4000-8000-000000000001'::uuid end, false, false, false, '[]', 'completed', 'not_analyzed'
		 from projection.phone_system s, generate_series(1, 40000) n
		 where s.name = 'system 1' or n <= 2000`,
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
		 select system_id, owner, owner_id, 1, 'completed' from projection.transcript_text`,
	}
	for _, table := range []string{"phone", "phone_number", "extension", "agent_config", "call_group", "call_menu"} {
		querytest.Insert(tb, pool, table, querytest.Row{"system_id": busyID, "status": "released"})
		name := "projection." + table
		statements = append(statements, `insert into `+name+`
			select r.*
			from `+name+` one, generate_series(1, 10000) n, json_populate_record(one, json_build_object(
			  'id', gen_random_uuid(), 'status', (array['active', 'inactive'])[1 + n % 2], 'created_at', '2026-03-01 12:00Z'::timestamptz - n * interval '400 days' / 10000,
			  'extension_id', gen_random_uuid(), 'phone_number', n, 'number', n, 'agent_number', 1 + n % 900)) r`)
	}
	for _, sql := range statements {
		if _, err := pool.Exec(context.Background(), sql); err != nil {
			tb.Fatalf("%.60s: %v", sql, err)
		}
	}
	querytest.Count(tb, pool)
	for _, sql := range []string{
		`insert into projection.day_count (system_id, list, subset, day, count)
		 select md5(s::text)::uuid, 'call_log', '', d, 1
		 from generate_series(1, 100) s, generate_series('2025-01-01'::date, '2026-01-01', '1 day') d`,
		"vacuum analyze",
	} {
		if _, err := pool.Exec(context.Background(), sql); err != nil {
			tb.Fatalf("%.60s: %v", sql, err)
		}
	}
}

func lists(p *Projection) []*List {
	return []*List{
		p.Phones(), p.PhoneNumbers(), p.Extensions(), p.AgentConfigs(), p.CallGroups(), p.CallMenus(),
		p.CallLogs(), p.CallAnalyses(), p.Voicemails(), p.CallRecordings(),
	}
}

func details(p *Projection) []*Detail {
	return []*Detail{
		p.Phone(), p.PhoneNumber(), p.Extension(), p.AgentConfig(), p.CallGroup(), p.CallMenu(),
		p.CallLog(), p.CallAnalysis(), p.Voicemail(), p.CallRecording(),
	}
}

// statement is a statement of the package with arguments.
type statement struct {
	sql       string
	arguments []any
}

// statements are all statements of the package. Those of lists and details are named by what they read, the others by their file.
func statements(tb testing.TB) map[string]statement {
	tb.Helper()
	system, other := pgUUID(uuid.MustParse(busyID)), pgUUID(uuid.MustParse(groupID))
	named := map[string]statement{
		"list_accessible_phone_systems_of_system":       {phoneSystemsOfSystemSQL, []any{system}},
		"list_accessible_phone_systems_of_group":        {phoneSystemsOfGroupSQL, []any{other}},
		"list_accessible_phone_systems_of_organization": {phoneSystemsOfOrganizationSQL, []any{other}},
		"get_call_recording_url":                        {getCallRecordingURLSQL, []any{system, "RE1"}},
		"list_call_log_reports_watermark":               {listCallLogReportsWatermarkSQL, []any{system}},
		"get_call_log_report_dimensions":                {getCallLogReportDimensionsSQL, []any{system}},
	}
	for field, s := range reportStatements() {
		named["list_call_log_reports by "+string(field)] = s
	}
	for _, l := range lists(New(nil)) {
		for _, p := range l.paths {
			sql, arguments, err := l.statement(p.filter())
			if err != nil || sql != p.sql {
				tb.Fatalf("%s by %v: error = %v, or another path's statement", l.name, p.columns, err)
			}
			named[fmt.Sprint(l.name, " by ", p.columns)] = statement{sql, arguments}
		}
	}
	for _, d := range details(New(nil)) {
		k := Key{System: uuid.MustParse(busyID), ID: groupID}
		named[d.name] = statement{d.sql, arguments(d.statement(k))}
		if k.Narrowing = narrowed(); d.narrowed != "" {
			named[d.name+", narrowed"] = statement{d.narrowed, arguments(d.statement(k))}
		}
	}
	return named
}

func arguments(_ string, arguments []any) []any { return arguments }

// filter is a filter for the path, with a page deep in the list.
func (p path) filter() Filter {
	f := Filter{System: uuid.MustParse(busyID), Offset: 3_000, Limit: 100}
	f.Window = Window{From: at("2025-01-10T07:00:00Z"), Until: at("2026-02-20T15:00:00.001Z")}
	for _, c := range p.columns {
		switch c {
		case narrowedExtension:
			f.Narrowing = narrowed()
		case ExtensionID, CallLogID:
			f.Exact = append(f.Exact, Exact{c, groupID})
		case Status:
			f.Exact = append(f.Exact, Exact{c, "ready"})
		default:
			f.Exact = append(f.Exact, Exact{c, "7"})
		}
	}
	return f
}

func narrowed() Narrowing {
	return Narrowing{On: true, Extension: uuid.NullUUID{UUID: uuid.MustParse(extensionID), Valid: true}}
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// files are the package's SQL files by name.
func files(tb testing.TB) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("*.sql")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("SQL files = %d, %v, want some", len(paths), err)
	}
	texts := make(map[string]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		texts[strings.TrimSuffix(path, ".sql")] = string(text)
	}
	return texts
}

var placeholder = regexp.MustCompile(`\{\{\w+\}\}`)

// Every file is a statement or a part of one, the reader's role can prepare all statements, and rows name their columns.
func TestSQL(t *testing.T) {
	t.Parallel()
	conn := connect(t, schematest.New(t))
	var all strings.Builder
	for name, s := range statements(t) {
		if _, err := conn.Prepare(t.Context(), name, s.sql); err != nil {
			t.Errorf("%s: %v\n%s", name, err, s.sql)
		}
		if left := placeholder.FindString(s.sql); left != "" {
			t.Errorf("%s has the placeholder %s, want none", name, left)
		}
		all.WriteString(s.sql)
	}
	for name, text := range files(t) {
		parts := placeholder.Split(text, -1)
		for _, part := range parts {
			if !strings.Contains(all.String(), part) {
				t.Errorf("%s is not a part of any statement", name)
				break
			}
		}
		if star := strings.Contains(text, "select *") || strings.Contains(text, ".*"); star && len(parts) == 1 {
			t.Errorf("%s selects *, want columns", name)
		}
	}
}

// A filter that a list does not have is an error, never ignored.
func TestList_UnknownFilter(t *testing.T) {
	t.Parallel()
	p := New(nil)
	for name, c := range map[string]struct {
		list   *List
		filter Filter
	}{
		"column of another list": {p.Phones(), Filter{Exact: []Exact{{Number, "1"}}}},
		"one known, one not":     {p.Phones(), Filter{Exact: []Exact{{Status, "active"}, {Number, "1"}}}},
		"the same column twice":  {p.Phones(), Filter{Exact: []Exact{{Status, "active"}, {Status, "inactive"}}}},
		"narrowed":               {p.Phones(), Filter{Narrowing: narrowed()}},
	} {
		if sql, _, err := c.list.statement(c.filter); err == nil {
			t.Errorf("%s: statement = %s, want an error", name, sql)
		}
	}
}

func TestImports(t *testing.T) { eventstest.Imports(t) }

func connect(t *testing.T, database *schematest.Database) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database.RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
