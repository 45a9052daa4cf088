package query

import (
	"cmp"
	"crypto/md5"
	"fmt"
	"regexp"
	"slices"
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

// The plans of all statements in a reader's session do not depend on the order of the rows, nor on what the planner
// knows about them.
func TestSQL_Plans(t *testing.T) {
	schematest.NeedOneServer(t, "nodes make the plans")
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	pool := database.Pool(t)
	disableAutovacuum(t, pool)
	conn := connect(t, database)
	for _, state := range []struct {
		name    string
		prepare func(testing.TB, *pgxpool.Pool)
	}{
		{"empty", vacuumAnalyze},
		{"full, statistics of empty tables", fill},
		{"full, no statistics", forgetStatistics},
		{"full", vacuumAnalyze},
		{"shuffled", func(tb testing.TB, pool *pgxpool.Pool) {
			tb.Helper()
			shuffle(tb, pool)
			vacuumAnalyze(tb, pool)
		}},
	} {
		state.prepare(t, pool)
		t.Run(state.name, func(t *testing.T) { expectPlans(t, conn) })
	}
	t.Run("deep pages", func(t *testing.T) { expectDeepPages(t, conn) })
	t.Run("report pages", func(t *testing.T) { expectReportCost(t, conn) })
}

// forbidden matches the nodes of a plan whose cost grows with a table, and index scans that drop thousands of rows
// by a filter. The table position, whose rows are the partitions, does not grow: plans have its name in quotes.
var forbidden = regexp.MustCompile(`Bitmap|Hash  \(|Hash \w* ?Join|Incremental Sort|Seq Scan on [a-z]\w*|Rows Removed by Join Filter: \d{4,}|` +
	`Index[^\n]*\n(?:\s+(?:Index Cond|Filter)[^\n]*\n)*\s+Rows Removed by Filter: \d{4,}`)

// ordering matches a node that holds all its rows, with the number of rows that it has returned and its key.
var ordering = regexp.MustCompile(`(?:Sort|HashAggregate|HashSetOp)  \(cost[^)]*\) \((?:never executed|actual rows=(\d+)[^)]*)\)\n\s+(?:Sort|Group) Key: (.*)`)

// bounds are the keys by which statements order rows, and how many these can be.
func bounds() []bound {
	return []bound{
		// The rows of the page, and the few rows that filters select, which the statement counts.
		{regexp.MustCompile(`^[rp]\.created_at DESC, [rp]\.(id|recording_sid)( COLLATE "C")? DESC$`), 100},
		// The days of the window.
		{regexp.MustCompile(`^d\.day DESC$`), listDays},
		// The rows of a report page.
		{regexp.MustCompile(`^p\.place$`), 26},
		// The references of a report page, and the labels of its codes, at most two each: the system's and the global one.
		{regexp.MustCompile(`^\(NULL::uuid\)$`), 4*100 + 4*2*100},
		// What a phone system's calls refer to: the rows of the answer.
		{regexp.MustCompile(`^\(array_position\(.*, m\.family\)\), m\.key COLLATE "C"$`), dimensionsCount},
		// The phone systems of a grant: the rows of the answer.
		{regexp.MustCompile(`^(s\.)?name COLLATE "C"(, (s\.)?id)?$`), systemsCount},
		// The row of the phone system, found by its primary key.
		{regexp.MustCompile(`^s\.partition$`), 1},
	}
}

type bound struct {
	key  *regexp.Regexp
	rows int
}

// expectPlans explains every statement.
func expectPlans(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for name, s := range statements(t) {
		plan := explain(t, conn, s)
		if node := forbidden.FindString(plan); node != "" {
			t.Errorf("%s: plan has %s, want index scans\n%s", name, node, plan)
		}
		for _, match := range ordering.FindAllStringSubmatch(plan, -1) {
			rows, _ := strconv.Atoi(cmp.Or(match[1], "0"))
			if !slices.ContainsFunc(bounds(), func(b bound) bool { return b.key.MatchString(match[2]) && rows <= b.rows }) {
				t.Errorf("%s: rows ordered by %s = %d, want an order with a bound\n%s", name, match[2], rows, plan)
			}
		}
		if testing.Verbose() {
			t.Logf("%s\n%s", name, plan)
		}
	}
}

// explain plans and runs a statement, and returns its plan with the actual numbers of rows.
func explain(tb testing.TB, conn *pgx.Conn, s statement) string {
	tb.Helper()
	if _, err := conn.Exec(tb.Context(), "deallocate all; prepare tried as "+s.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		tb.Fatal(err)
	}
	execute := "execute tried"
	if len(s.arguments) > 0 {
		var literals []string
		for _, argument := range s.arguments {
			literals = append(literals, literal(argument))
		}
		execute += " (" + strings.Join(literals, ", ") + ")"
	}
	rows, _ := conn.Query(tb.Context(), "explain (analyze, timing off, summary off) "+execute, pgx.QueryExecModeSimpleProtocol)
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

const largeTables = "call_log|extension_entry|transcript|transcript_text|recording|analysis|voicemail|topology"

const actualRows = `\b.*\(actual rows=(\d+)(?:\.\d+)? loops=(\d+)\)`

var (
	rowsRead   = regexp.MustCompile(`(?:` + largeTables + `)` + actualRows)
	countsRead = regexp.MustCompile(`row_count ` + actualRows)
)

// The last page costs little more than the first page. No scan reads more rows than the page's days have, or more
// counts than the list has days.
func expectDeepPages(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, l := range lists(New(nil)) {
		for _, p := range l.paths {
			if p.firstSQL == "" {
				continue
			}
			f := p.filter()
			f.Window, f.Limit = Always(), 50
			for _, f.Offset = range []int64{0, 500, 950, 2_000, 3_950, 1 << 62, 1<<63 - 1} {
				sql, arguments, err := l.statement(f)
				if err != nil {
					t.Fatal(err)
				}
				plan := explain(t, conn, statement{sql, ofBusy(arguments...)})
				for _, match := range countsRead.FindAllStringSubmatch(plan, -1) {
					if got := product(match[1:]); got > listDays {
						t.Errorf("%s by %v, offset %d: counts read = %d, want at most %d\n%s", l.name, p.columns, f.Offset, got, listDays, plan)
					}
				}
				for _, match := range rowsRead.FindAllStringSubmatch(plan, -1) {
					if got := product(match[1:]); got > 200 { // two days of 100 calls
						t.Errorf("%s by %v, offset %d: rows read = %d, want at most 200\n%s", l.name, p.columns, f.Offset, got, plan)
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

// reportStatements are those of report pages by time field, and whether they have transcripts.
func reportStatements() map[string]statement {
	r := New(nil).CallLogReports(nil)
	named := make(map[string]statement)
	for _, field := range []TimeField{CreatedAt, UpdatedAt} {
		f := ReportFilter{
			System: uuid.MustParse(busyID), TimeField: field, After: ReportKeyBefore(at("2026-01-25T07:00:00Z")), Until: at("2026-02-20T15:00:00.001Z"),
			Limit: 100,
		}
		sql, arguments := r.statement(f)
		named["list_call_log_reports by "+string(field)] = statement{sql, ofBusy(arguments...)}
		f.Limit, f.Transcripts, f.MaxStored = 25, true, 1<<20
		sql, arguments = r.statement(f)
		named["list_transcribed_call_log_reports by "+string(field)] = statement{sql, ofBusy(arguments...)}
	}
	return named
}

// A page reads its own rows and their names, each once, however many other rows the tables have.
func expectReportCost(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	all := statements(t)
	for _, field := range []TimeField{CreatedAt, UpdatedAt} {
		expectScans(t, conn, all["list_call_log_reports by "+string(field)], 1, 101)
		transcribed := all["list_transcribed_call_log_reports by "+string(field)]
		expectScans(t, conn, transcribed, 2, 26)
		expectTextBelowLimit(t, conn, transcribed)
	}
	expectScans(t, conn, all["names"], 10, 202)
}

// pageKeys are the arguments of the names of a page of 100 rows with different references, as PostgreSQL's text.
func pageKeys() []any {
	ids, codes := make([]string, 0, 200), make([]string, 0, 100)
	for n := range 200 {
		ids = append(ids, fmt.Sprintf("%x", md5.Sum(fmt.Append(nil, "representative", n))))
	}
	for n := range 100 {
		codes = append(codes, fmt.Sprint("code_", n))
	}
	array := func(values []string) any { return "{" + strings.Join(values, ",") + "}" }
	return []any{array(ids[:100]), array(ids), array(ids[:100]), array(codes), array(codes), array(codes), array(codes)}
}

var textScan = regexp.MustCompile(`Scan using \w+ on transcript_text \w+ .*\((never executed|actual rows=\d+[^)]*)\)`)

// PostgreSQL reads no transcript if the page's transcripts are above the limit.
func expectTextBelowLimit(t *testing.T, conn *pgx.Conn, s statement) {
	t.Helper()
	for limit, want := range map[int64]bool{25*8 - 1: false, 25 * 8: true} {
		plan := explain(t, conn, statement{s.sql, append(s.arguments[:6:6], limit)})
		scan := textScan.FindStringSubmatch(plan)
		if scan == nil {
			t.Fatalf("scans of transcript_text = 0, want 1\n%s", plan)
		}
		if got := scan[1] != "never executed"; got != want {
			t.Errorf("limit %d: text read = %t, want %t\n%s", limit, got, want, plan)
		}
	}
}

var reportScan = regexp.MustCompile(`Scan.* on (call_log|transcript_text|topology|representative|tombstone|classification) .*\(actual rows=(\d+)(?:\.\d+)? loops=(\d+)\)`)

// expectScans checks how many scans a statement has, and that none reads more rows than wanted.
func expectScans(t *testing.T, conn *pgx.Conn, s statement, scans, rows int) {
	t.Helper()
	plan := explain(t, conn, s)
	found := reportScan.FindAllStringSubmatch(plan, -1)
	for _, scan := range found {
		if got := product(scan[2:]); got > rows {
			t.Errorf("rows read of %s = %d, want at most %d\n%s", scan[1], got, rows, plan)
		}
	}
	if len(found) != scans {
		t.Errorf("scans = %d, want %d\n%s", len(found), scans, plan)
	}
}
