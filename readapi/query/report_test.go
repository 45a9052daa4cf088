package query

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/schema/schematest"
)

// reportStatements are those of the report operations.
func reportStatements() map[string]statement {
	system := pgUUID(uuid.MustParse(busyID))
	r := New(nil).CallLogReports()
	named := map[string]statement{
		"list_call_log_reports watermark": {listCallLogReportsWatermarkSQL, []any{system}},
		"get_call_log_report_dimensions":  {getCallLogReportDimensionsSQL, []any{system}},
	}
	for _, field := range []TimeField{CreatedAt, UpdatedAt} {
		f := ReportFilter{
			System: uuid.MustParse(busyID), TimeField: field, After: ReportKeyBefore(at("2025-06-01T07:00:00Z")), Until: at("2026-02-20T15:00:00.001Z"),
			Limit: 100, Transcripts: true, MaxStored: 1 << 20,
		}
		sql, arguments := r.statement(f)
		named["list_call_log_reports by "+string(field)] = statement{sql, arguments}
	}
	return named
}

// What the plans of report pages promise, for one filling of the tables.
func TestReports_Plans(t *testing.T) {
	conn := reportConn(t)
	for name, s := range reportStatements() {
		if !strings.Contains(name, "reports by") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			expectTextNeverRead(t, conn, s)
			expectCost(t, conn, s)
			expectPlanKept(t, conn, s)
		})
	}
}

// reportConn is a connection to a database where every call of the busy system has a transcript and refers to one of many.
func reportConn(t *testing.T) *pgx.Conn {
	t.Helper()
	database := schematest.New(t)
	pool := database.Pool(t)
	fill(t, pool)
	for _, sql := range []string{
		"delete from projection.call_log where system_id <> '" + busyID + "'", // so that a system has many calls, to the planner
		`update projection.call_log set updated_at = created_at, transcript_text_bytes = 6, transcript_turns_bytes = 2,
		   category = 'code_' || hashtext(id::text) % 7, overall_sentiment = 'code_1', employee_sentiment = 'code_2', customer_sentiment = 'code_3',
		   representative_id = gen_random_uuid(), call_group_id = (select id from projection.call_group limit 1), from_extension_id = gen_random_uuid()`,
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
	conn, err := pgx.Connect(t.Context(), database.RoleURL("callboard_reader"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

var textScan = regexp.MustCompile(`Scan using \w+ on transcript_text \w+ .*\((never executed|actual rows=\d+[^)]*)\)`)

// Where transcripts aren't asked for, or there is too much of them, Postgres does not read one.
func expectTextNeverRead(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	for _, c := range []struct {
		transcripts bool
		most        int64
		read        bool
	}{{false, 1 << 20, false}, {true, 100*8 - 1, false}, {true, 100 * 8, true}} {
		arguments := append(s.arguments[:5:5], c.transcripts, c.most)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			plan := explain(t, conn, mode, s.sql, arguments)
			scan := textScan.FindStringSubmatch(plan)
			gone := scan == nil && strings.Contains(plan, "One-Time Filter: false") // planned away
			if read := !gone && scan[1] != "never executed"; read != c.read {
				t.Errorf("%s, transcripts %t, at most %d: %v\n%s", mode, c.transcripts, c.most, scan, plan)
			}
		}
	}
}

var reportScan = regexp.MustCompile(`Scan.* on (call_log|call_group|extension|representative|classification|transcript_text) .*\(actual rows=(\d+)(?:\.\d+)? loops=(\d+)\)`)

// A page reads its own rows and what they refer to, each once, however much there is beside it.
func expectCost(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		plan := explain(t, conn, mode, s.sql, s.arguments)
		scans := reportScan.FindAllStringSubmatch(plan, -1)
		for _, scan := range scans {
			rows, _ := strconv.Atoi(scan[2])
			loops, _ := strconv.Atoi(scan[3])
			if rows*loops > 202 { // from two extensions each
				t.Errorf("%s: %d rows of %s\n%s", mode, rows*loops, scan[1], plan)
			}
		}
		if len(scans) != 9 {
			t.Errorf("%s: %d scans\n%s", mode, len(scans), plan)
		}
	}
}

// A page's plan is made a few times and then kept: planning takes longer than the page.
func expectPlanKept(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	// The driver must know what explain has deallocated behind its back.
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
	var kept int64
	err = conn.QueryRow(t.Context(), "select generic_plans from pg_prepared_statements where statement = $1", s.sql).Scan(&kept)
	if err != nil || kept == 0 {
		t.Errorf("kept %d times, %v", kept, err)
	}
}
