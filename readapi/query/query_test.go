package query

import (
	"context"
	"fmt"
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

	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.Run(m, func() error { return goleak.Find() }) }

// Those that the statements ask for.
const (
	busyID      = "b0000000-0000-4000-8000-000000000001"
	extensionID = "e0000000-0000-4000-8000-000000000001"
	groupID     = "a0000000-0000-4000-8000-000000000001"
)

// fill makes six phone systems; the busy one has 40 thousand calls over 400 days, a tenth of them the extension's own.
func fill(tb testing.TB, pool *pgxpool.Pool) {
	tb.Helper()
	for _, sql := range []string{
		`insert into projection.position (partition, stream, stream_created, sequence, epoch, clock, watermark)
		 select n, 'PHONES', 'epoch', 1, 1, 'epoch', '2026-03-01 12:00Z' from generate_series(0, 15) n`,
		`insert into projection.phone_system (id, version, name, organization_id, partition)
		 select overlay('b0000000-0000-4000-8000-000000000000' placing n::text from 36)::uuid, 1, 'system ' || n, gen_random_uuid(), n
		 from generate_series(1, 6) n`,
		`insert into projection.phone_system_group (id, version, name, phone_system_ids)
		 select 'a0000000-0000-4000-8000-000000000001', 1, 'all', array_agg(id) from projection.phone_system`,
		`insert into projection.call_log (
		   system_id, id, version, updated_at, call_sid, direction, status, from_party, to_party, created_at,
		   answered_by_extension_id, is_emergency, is_converted, is_edited, tags, transcription_status)
		 select s.id, gen_random_uuid(), 1, 'epoch', 'CA' || n / 3, 'inbound', 'completed', '+15550001', '+15550002',
		   '2026-03-01 12:00Z'::timestamptz - n * interval '400 days' / 40000,
		   case when n % 10 = 0 then 'e0000000-0000-4000-8000-000000000001'::uuid end, false, false, false, '[]', 'completed'
		 from projection.phone_system s, generate_series(1, 40000) n
		 where s.name = 'system 1' or n <= 2000`,
		`insert into projection.extension_call (system_id, extension_id, created_at, call_id)
		 select system_id, answered_by_extension_id, created_at, id from projection.call_log where answered_by_extension_id is not null`,
		`insert into projection.day_count (system_id, list, subset, day, count)
		 select system_id, 'call_log', '00000000-0000-0000-0000-000000000000', (created_at at time zone 'UTC')::date, count(*)
		 from projection.call_log group by 1, 4
		 union all
		 select system_id, 'call_log', extension_id, (created_at at time zone 'UTC')::date, count(*)
		 from projection.extension_call group by 1, 3, 4`,
		`insert into projection.day_count (system_id, list, subset, day, count)
		 select md5(s::text)::uuid, 'call_log', '00000000-0000-0000-0000-000000000000', d, 1
		 from generate_series(1, 100) s, generate_series('2025-01-01'::date, '2026-01-01', '1 day') d`,
		`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		 select system_id, 'call', id, 'Hello.', '[]' from projection.call_log`,
		"analyze",
	} {
		if _, err := pool.Exec(context.Background(), sql); err != nil {
			tb.Fatalf("%.60s: %v", sql, err)
		}
	}
}

// statements are every statement of the package with arguments, named by file.
func statements() map[string][]any {
	f := CallLogFilter{System: uuid.MustParse(busyID), Window: Always(), Offset: 30_000, Limit: 100}
	f.Window.From, f.Window.Until = at("2025-01-10T07:00:00Z"), at("2026-02-20T15:00:00.001Z")
	own := f
	own.Own = Narrowing{On: true, Extension: uuid.NullUUID{UUID: uuid.MustParse(extensionID), Valid: true}}
	own.Offset = 3_000
	sid, ownSid := f, own
	sid.CallSid, ownSid.CallSid = "CA77", "CA77"
	named := make(map[string][]any)
	for name, f := range map[string]CallLogFilter{
		"list_call_logs": f, "list_call_logs_own": own,
		"list_call_logs_by_call_sid": sid, "list_call_logs_own_by_call_sid": ownSid,
	} {
		_, named[name] = f.statement()
	}
	named["get_call_log"] = []any{key(uuid.MustParse(busyID)), key(uuid.MustParse(groupID))}
	named["get_call_log_own"] = []any{key(uuid.MustParse(busyID)), key(uuid.MustParse(groupID)), key(uuid.MustParse(extensionID))}
	named["list_accessible_phone_systems_of_system"] = []any{key(uuid.MustParse(busyID))}
	named["list_accessible_phone_systems_of_group"] = []any{key(uuid.MustParse(groupID))}
	named["list_accessible_phone_systems_of_organization"] = []any{key(uuid.MustParse(groupID))}
	return named
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

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

// Every file is a statement that the reader's role can prepare, names its columns, and is embedded and tried by these tests.
func TestSQL(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), schematest.New(t).RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, path := range sources {
		text, _ := os.ReadFile(path)
		source.Write(text)
	}
	tried := statements()
	for name, sql := range files(t) {
		if _, err := conn.Prepare(t.Context(), name, sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(sql, "select *") || strings.Contains(sql, ".*") {
			t.Errorf("%s selects a star", name)
		}
		if _, ok := tried[name]; !ok || !strings.Contains(source.String(), "//go:embed "+name+".sql\n") {
			t.Errorf("%s is not tried or not embedded", name)
		}
	}
}

var sequential = regexp.MustCompile(`Seq Scan on (call_log|day_count|extension_call|transcript_text)`)

// No plan, custom or generic, reads one of the large tables from end to end.
func TestSQL_Plans(t *testing.T) {
	database := schematest.New(t)
	fill(t, database.Pool(t))
	conn, err := pgx.Connect(t.Context(), database.RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	arguments := statements()
	for name, sql := range files(t) {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explain(t, conn, mode, sql, arguments[name])
			if scan := sequential.FindString(plan); scan != "" {
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
	}
	return fmt.Sprintf("'%v'", argument)
}

var rowsRead = regexp.MustCompile(`(?:call_log|extension_call).*\(actual rows=(\d+) loops=(\d+)\)`)

// The last page costs what the first costs, whichever plan is chosen: no scan reads more than the days that the page lies in.
func TestListCallLogs_DeepPage(t *testing.T) {
	database := schematest.New(t)
	fill(t, database.Pool(t))
	conn, err := pgx.Connect(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	own := Narrowing{On: true, Extension: uuid.NullUUID{UUID: uuid.MustParse(extensionID), Valid: true}}
	for _, f := range []CallLogFilter{
		{Offset: 0}, {Offset: 20_000}, {Offset: 39_950}, {Offset: 1 << 62},
		{Offset: 0, Own: own}, {Offset: 2_000, Own: own}, {Offset: 3_950, Own: own}, {Offset: 1<<63 - 1, Own: own},
	} {
		f.System, f.Window, f.Limit = uuid.MustParse(busyID), Always(), 50
		sql, arguments := f.statement()
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explain(t, conn, mode, sql, arguments)
			for _, match := range rowsRead.FindAllStringSubmatch(plan, -1) {
				rows, _ := strconv.Atoi(match[1])
				loops, _ := strconv.Atoi(match[2])
				if rows*loops > 200 { // two days of 100 calls
					t.Errorf("offset %d, %s: %d rows read\n%s", f.Offset, mode, rows*loops, plan)
				}
			}
		}
	}
}
