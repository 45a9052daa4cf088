package query

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"callboard/schema/schematest"
)

// The plans of all statements, on one filling of the tables, as custom and as generic plans.
func TestSQL_Plans(t *testing.T) {
	t.Parallel()
	database := schematest.New(t)
	pool := database.Pool(t)
	fill(t, pool)
	conn := connect(t, database)
	t.Run("no full scan", func(t *testing.T) { expectNoFullScan(t, conn) })
	t.Run("deep pages", func(t *testing.T) { expectDeepPages(t, conn) })
	fillReports(t, pool)
	for field, s := range reportStatements() {
		t.Run("report pages by "+string(field), func(t *testing.T) {
			expectTextReadOnRequest(t, conn, s)
			expectReportCost(t, conn, s)
			expectGenericPlan(t, conn, s)
		})
	}
}

const largeTables = "call_log|extension_call|extension_analysis|transcript|transcript_text|recording|analysis|voicemail|" +
	"phone|phone_number|extension|agent_config|call_group|call_menu"

// fullScan matches a plan that reads a large table completely, or thousands of rows that a filter removes.
var fullScan = regexp.MustCompile(`Seq Scan on (day_count|` + largeTables + `)\b|Rows Removed by [\w ]+: \d{4,}`)

func expectNoFullScan(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for name, s := range statements(t) {
		for _, mode := range planModes() {
			plan := explain(t, conn, mode, s.sql, s.arguments)
			if scan := fullScan.FindString(plan); scan != "" {
				t.Errorf("%s, %s: %s, want an index scan\n%s", name, mode, scan, plan)
			}
			if testing.Verbose() {
				t.Logf("%s, %s\n%s", name, mode, plan)
			}
		}
	}
}

func planModes() []string { return []string{"force_custom_plan", "force_generic_plan"} }

// explain runs a statement and returns its plan with the actual numbers of rows.
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

// The last page costs what the first page costs: no scan reads more rows than the days have that contain the page.
func expectDeepPages(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, l := range lists(New(nil)) {
		for _, p := range l.paths {
			if !p.counted {
				continue
			}
			f := p.filter()
			f.Window, f.Limit = Always(), 50
			for _, f.Offset = range []int64{0, 500, 3_950, 20_000, 39_950, 1 << 62, 1<<63 - 1} {
				for _, mode := range planModes() {
					_, arguments, err := l.statement(f)
					if err != nil {
						t.Fatal(err)
					}
					plan := explain(t, conn, mode, p.sql, arguments)
					for _, match := range rowsRead.FindAllStringSubmatch(plan, -1) {
						if got := product(match[1:]); got > 200 { // two days of 100 calls
							t.Errorf("%s by %v, offset %d, %s: rows read = %d, want at most 200\n%s", l.name, p.columns, f.Offset, mode, got, plan)
						}
					}
				}
			}
		}
	}
}

func product(numbers []string) int {
	product := 1
	for _, text := range numbers {
		n, _ := strconv.Atoi(text)
		product *= n
	}
	return product
}

func reportStatements() map[TimeField]statement {
	r := New(nil).CallLogReports()
	named := make(map[TimeField]statement)
	for _, field := range []TimeField{CreatedAt, UpdatedAt} {
		sql, arguments := r.statement(ReportFilter{
			System: uuid.MustParse(busyID), TimeField: field, After: ReportKeyBefore(at("2025-06-01T07:00:00Z")), Until: at("2026-02-20T15:00:00.001Z"),
			Limit: 100, Transcripts: true, MaxStored: 1 << 20,
		})
		named[field] = statement{sql, arguments}
	}
	return named
}

// fillReports gives every call of the busy system a transcript and references to one of many targets. The other systems' calls are
// deleted, so that the planner expects many calls per system.
func fillReports(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for _, sql := range []string{
		"delete from projection.call_log where system_id <> '" + busyID + "'",
		`update projection.call_log set updated_at = created_at, transcript_text_bytes = 6, transcript_turns_bytes = 2,
		   category = 'code_' || hashtext(id::text) % 7, overall_sentiment = 'code_1', employee_sentiment = 'code_2', customer_sentiment = 'code_3',
		   representative_id = gen_random_uuid(), call_group_id = (select id from projection.call_group order by id limit 1), from_extension_id = gen_random_uuid()`,
		`insert into projection.classification (system_id, kind, code, version, label, status, updated_at)
		 select case when s = 0 then '00000000-0000-0000-0000-000000000000' else md5(s::text)::uuid end, k, 'code_' || n, 1, 'Label', 'active', 'epoch'
		 from generate_series(0, 500) s, generate_series(1, 5) n, unnest(array['category', 'overall_sentiment', 'employee_sentiment', 'customer_sentiment']) k`,
		`insert into projection.representative (system_id, id, version, name, status, updated_at)
		 select '` + busyID + `', gen_random_uuid(), 1, 'Somebody', 'active', 'epoch' from generate_series(1, 5000)`,
		"vacuum analyze",
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

var textScan = regexp.MustCompile(`Scan using \w+ on transcript_text \w+ .*\((never executed|actual rows=\d+[^)]*)\)`)

// PostgreSQL reads no transcript if none is requested, or if the page's transcripts are above the limit.
func expectTextReadOnRequest(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	for _, c := range []struct {
		transcripts bool
		limit       int64
		want        bool
	}{{false, 1 << 20, false}, {true, 100*8 - 1, false}, {true, 100 * 8, true}} {
		arguments := append(s.arguments[:5:5], c.transcripts, c.limit)
		for _, mode := range planModes() {
			plan := explain(t, conn, mode, s.sql, arguments)
			scan := textScan.FindStringSubmatch(plan)
			if scan == nil && !strings.Contains(plan, "One-Time Filter: false") { // that of a scan that the planner removed
				t.Errorf("%s: no scan of transcript_text\n%s", mode, plan)
			}
			if got := scan != nil && scan[1] != "never executed"; got != c.want {
				t.Errorf("%s, transcripts %t, limit %d: text read = %t, want %t\n%s", mode, c.transcripts, c.limit, got, c.want, plan)
			}
		}
	}
}

var reportScan = regexp.MustCompile(`Scan.* on (call_log|call_group|extension|representative|classification|transcript_text) .*\(actual rows=(\d+)(?:\.\d+)? loops=(\d+)\)`)

// A page reads its own rows and their references, each once, however many other rows the tables have.
func expectReportCost(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	for _, mode := range planModes() {
		plan := explain(t, conn, mode, s.sql, s.arguments)
		scans := reportScan.FindAllStringSubmatch(plan, -1)
		for _, scan := range scans {
			if got := product(scan[2:]); got > 202 { // two extensions per row
				t.Errorf("%s: rows read of %s = %d, want at most 202\n%s", mode, scan[1], got, plan)
			}
		}
		if len(scans) != 9 {
			t.Errorf("%s: scans = %d, want 9\n%s", mode, len(scans), plan)
		}
	}
}

// PostgreSQL changes to a generic plan after a few executions. Planning takes longer than the page.
func expectGenericPlan(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	// explain has deallocated statements without the driver.
	_, err := conn.Exec(t.Context(), "reset plan_cache_mode", pgx.QueryExecModeSimpleProtocol)
	if err = errors.Join(err, conn.DeallocateAll(t.Context())); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		rows, err := conn.Query(t.Context(), s.sql, s.arguments...)
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
	}
	var generic int64
	err = conn.QueryRow(t.Context(), "select generic_plans from pg_prepared_statements where statement = $1", s.sql).Scan(&generic)
	if err != nil || generic == 0 {
		t.Errorf("generic plans = %d, %v, want some", generic, err)
	}
}
