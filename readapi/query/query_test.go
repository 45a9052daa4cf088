package query

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"callboard/readapi/query/querytest"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

// Those that the statements ask for.
const (
	busyID      = "b0000000-0000-4000-8000-000000000001"
	extensionID = "e0000000-0000-4000-8000-000000000001"
	groupID     = "a0000000-0000-4000-8000-000000000001"
)

// fill makes six phone systems; the busy one has 40 thousand calls over 400 days, a tenth of them the extension's own, each with a
// recording, an analysis and a voicemail, and 10 thousand of everything else over the same time.
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

// statement is one of the package's, with arguments.
type statement struct {
	sql       string
	arguments []any
}

// statements are every statement of the package: those of lists and details are named by what they ask for, the others by file.
func statements(tb testing.TB) map[string]statement {
	tb.Helper()
	system, other := pgUUID(uuid.MustParse(busyID)), pgUUID(uuid.MustParse(groupID))
	named := map[string]statement{
		"list_accessible_phone_systems_of_system":       {phoneSystemsOfSystemSQL, []any{system}},
		"list_accessible_phone_systems_of_group":        {phoneSystemsOfGroupSQL, []any{other}},
		"list_accessible_phone_systems_of_organization": {phoneSystemsOfOrganizationSQL, []any{other}},
		"get_call_recording_url":                        {getCallRecordingURLSQL, []any{system, "RE1"}},
	}
	maps.Copy(named, reportStatements())
	for _, l := range lists(New(nil)) {
		for _, p := range l.paths {
			sql, arguments, err := l.statement(p.filter())
			if err != nil || sql != p.sql {
				tb.Fatalf("%s by %v: %v", l.name, p.columns, err)
			}
			named[fmt.Sprint(l.name, " by ", p.columns)] = statement{sql, arguments}
		}
	}
	for _, d := range details(New(nil)) {
		k := Key{System: uuid.MustParse(busyID), ID: groupID}
		named[d.name] = statement{d.sql, arguments(d.statement(k))}
		if k.Narrowing = ownExtension(); d.narrowed != "" {
			named[d.name+" by own"] = statement{d.narrowed, arguments(d.statement(k))}
		}
	}
	return named
}

func arguments(_ string, arguments []any) []any { return arguments }

// filter is one that takes the path, deep in the list.
func (p path) filter() Filter {
	f := Filter{System: uuid.MustParse(busyID), Offset: 3_000, Limit: 100}
	f.Window = Window{From: at("2025-01-10T07:00:00Z"), Until: at("2026-02-20T15:00:00.001Z")}
	for _, c := range p.columns {
		switch c {
		case narrowedExtension:
			f.Narrowing = ownExtension()
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

func ownExtension() Narrowing {
	return Narrowing{On: true, Extension: uuid.NullUUID{UUID: uuid.MustParse(extensionID), Valid: true}}
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// files are the package's SQL, by name.
func files(tb testing.TB) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("*.sql")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("%d files, %v", len(paths), err)
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

var place = regexp.MustCompile(`\{\{\w+\}\}`)

// Every file is a statement or part of one, all statements can be prepared by the reader's role, and rows name their columns.
func TestSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), schematest.New(t).RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var all strings.Builder
	for name, s := range statements(t) {
		if _, err := conn.Prepare(t.Context(), name, s.sql); err != nil {
			t.Errorf("%s: %v\n%s", name, err, s.sql)
		}
		if left := place.FindString(s.sql); left != "" {
			t.Errorf("%s: %s is left", name, left)
		}
		all.WriteString(s.sql)
	}
	for name, text := range files(t) {
		parts := place.Split(text, -1)
		for _, part := range parts {
			if !strings.Contains(all.String(), part) {
				t.Errorf("%s is in no statement that is tried", name)
				break
			}
		}
		if star := strings.Contains(text, "select *") || strings.Contains(text, ".*"); star && len(parts) == 1 {
			t.Errorf("%s selects a star", name)
		}
	}
}

// What a list can't be filtered by is an error, never ignored.
func TestList_NoPath(t *testing.T) {
	p := New(nil)
	for name, c := range map[string]struct {
		list   *List
		filter Filter
	}{
		"a column of another list": {p.Phones(), Filter{Exact: []Exact{{Number, "1"}}}},
		"one of two":               {p.Phones(), Filter{Exact: []Exact{{Status, "active"}, {Number, "1"}}}},
		"the same twice":           {p.Phones(), Filter{Exact: []Exact{{Status, "active"}, {Status, "inactive"}}}},
		"narrowed":                 {p.Phones(), Filter{Narrowing: ownExtension()}},
	} {
		if sql, _, err := c.list.statement(c.filter); err == nil {
			t.Errorf("%s: %s", name, sql)
		}
	}
}

var sequential = regexp.MustCompile(`Seq Scan on (day_count|` + largeTables + `)\b`)

const largeTables = "call_log|extension_call|extension_analysis|transcript|transcript_text|recording|analysis|voicemail|" +
	"phone|phone_number|extension|agent_config|call_group|call_menu"

// wasteful is a plan that reads thousands of rows to throw them away.
var wasteful = regexp.MustCompile(`Rows Removed by [\w ]+: \d{4,}`)

// No plan, custom or generic, reads one of the large tables from end to end, by way of an index neither.
func TestSQL_Plans(t *testing.T) {
	database := schematest.New(t)
	fill(t, database.Pool(t))
	conn, err := pgx.Connect(t.Context(), database.RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for name, s := range statements(t) {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explain(t, conn, mode, s.sql, s.arguments)
			scan := sequential.FindString(plan) + wasteful.FindString(plan)
			if scan != "" {
				t.Errorf("%s, %s: %s\n%s", name, mode, scan, plan)
			}
			if testing.Verbose() {
				t.Logf("%s, %s\n%s", name, mode, plan)
			}
		}
	}
}

// explain runs a statement and returns its plan with what it really read.
func explain(tb testing.TB, conn *pgx.Conn, mode, sql string, arguments []any) string {
	tb.Helper()
	var literals []string
	for _, argument := range arguments {
		literals = append(literals, literal(argument))
	}
	setup := fmt.Sprintf("deallocate all; set plan_cache_mode = %s; prepare tried as %s", mode, sql)
	if _, err := conn.Exec(tb.Context(), setup, pgx.QueryExecModeSimpleProtocol); err != nil {
		tb.Fatal(err)
	}
	rows, err := conn.Query(tb.Context(), "explain (analyze, timing off, summary off) execute tried ("+strings.Join(literals, ", ")+")",
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		tb.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func literal(argument any) string {
	switch v := argument.(type) {
	case time.Time:
		if v.Year() < 1 {
			return "'0001-01-01 00:00:00Z BC'"
		}
		return "'" + v.Format(time.RFC3339Nano) + "'"
	case pgtype.UUID:
		return "'" + uuid.UUID(v.Bytes).String() + "'"
	case nil:
		return "null"
	}
	return fmt.Sprintf("'%v'", argument)
}

var rowsRead = regexp.MustCompile(`(?:` + largeTables + `)\b.*\(actual rows=(\d+)(?:\.\d+)? loops=(\d+)\)`)

// The last page costs what the first costs, whichever plan is chosen: no scan reads more than the days that the page lies in.
func TestList_DeepPage(t *testing.T) {
	database := schematest.New(t)
	fill(t, database.Pool(t))
	conn, err := pgx.Connect(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, l := range lists(New(nil)) {
		for _, p := range l.paths {
			if !p.counted {
				continue
			}
			f := p.filter()
			f.Window, f.Limit = Always(), 50
			for _, f.Offset = range []int64{0, 500, 3_950, 20_000, 39_950, 1 << 62, 1<<63 - 1} {
				for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
					_, arguments, err := l.statement(f)
					if err != nil {
						t.Fatal(err)
					}
					plan := explain(t, conn, mode, p.sql, arguments)
					for _, match := range rowsRead.FindAllStringSubmatch(plan, -1) {
						rows, _ := strconv.Atoi(match[1])
						loops, _ := strconv.Atoi(match[2])
						if rows*loops > 200 { // two days of 100 calls
							t.Errorf("%s by %v, offset %d, %s: %d rows read\n%s", l.name, p.columns, f.Offset, mode, rows*loops, plan)
						}
					}
				}
			}
		}
	}
}
