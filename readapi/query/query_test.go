package query

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"callboard/internal/run/connection"
	"callboard/readapi/access"
	"callboard/schema"
	"callboard/schema/schematest"
)

func TestMain(m *testing.M) { schematest.RunAndFindLeaks(m) }

// The identifiers that the statements' arguments have.
const (
	busyID      = "b0000000-0000-4000-8000-000000000001"
	extensionID = "e0000000-0000-4000-8000-000000000001"
	groupID     = "a0000000-0000-4000-8000-000000000001"
)

func lists(p *Projection) []*List {
	return []*List{
		p.Topology("phone", ExtensionID), p.Topology("extension", Number), p.Topology("call-menu"),
		p.CallLogs(), p.CallAnalyses(), p.Voicemails(), p.CallRecordings(),
	}
}

func details(p *Projection) []*Detail {
	return []*Detail{
		p.TopologyDetail("phone"), p.CallLog(), p.CallAnalysis(), p.Voicemail(), p.CallRecording(),
	}
}

// statement is a statement of the package with arguments.
type statement struct {
	sql       string
	arguments []any
}

// statements are all statements of the package. Those of lists and details are named by what they read, the others
// by their file.
func statements(tb testing.TB) map[string]statement {
	tb.Helper()
	other := schema.UUID(uuid.MustParse(groupID))
	named := map[string]statement{
		"list_accessible_phone_systems_of_system":       {phoneSystemsOfSystemSQL, ofBusy()},
		"list_accessible_phone_systems_of_group":        {phoneSystemsOfGroupSQL, []any{other}},
		"list_accessible_phone_systems_of_organization": {phoneSystemsOfOrganizationSQL, []any{other}},
		"get_call_recording_url":                        {getCallRecordingURLSQL, ofBusy("RE1")},
		"locate":                                        {locateSQL, ofBusy()},
		"get_call_log_report_dimensions":                {getCallLogReportDimensionsSQL, ofBusy()},
		"freshness":                                     {freshnessSQL, nil},
		"names":                                         {New(nil).CallLogReports(nil).namesSQL, ofBusy(pageKeys()...)},
	}
	maps.Copy(named, reportStatements())
	maps.Copy(named, listStatements(tb))
	for _, d := range details(New(nil)) {
		k := Key{System: uuid.MustParse(busyID), ID: groupID}
		named[d.name] = statement{d.sql, ofBusy(d.arguments(k)...)}
		k.Narrowing = narrowed()
		named[d.name+", narrowed"] = statement{d.sql, ofBusy(d.arguments(k)...)}
	}
	return named
}

// listStatements are those of lists, each with a page deep in the list and, where another statement returns it, the
// first page.
func listStatements(tb testing.TB) map[string]statement {
	tb.Helper()
	named := make(map[string]statement)
	for _, l := range lists(New(nil)) {
		for _, p := range l.paths {
			add := func(f Filter, name, want string) {
				sql, arguments, err := l.statement(f)
				if err != nil || sql != want {
					tb.Fatalf("%s: error = %v, or another path's statement", name, err)
				}
				named[name] = statement{sql, ofBusy(arguments...)}
			}
			f, name := p.filter(), fmt.Sprint(l.name, " by ", p.columns)
			add(f, name, p.sql)
			if p.firstSQL != "" {
				f.Offset = 0
				add(f, name+", first page", p.firstSQL)
			}
		}
	}
	return named
}

// ofBusy are the arguments of a statement about the busy phone system, whose rows are in partition 0.
func ofBusy(arguments ...any) []any {
	return append([]any{int16(0), schema.UUID(uuid.MustParse(busyID))}, arguments...)
}

// filter is a filter for the path, with a page deep in the list.
func (p path) filter() Filter {
	f := Filter{System: uuid.MustParse(busyID), Offset: 800, Limit: 100}
	f.Window = Window{From: at("2026-01-22T07:00:00Z"), Until: at("2026-02-20T15:00:00.001Z")}
	for _, c := range p.columns {
		switch c {
		case narrowedExtension:
			f.Narrowing = narrowed()
		case ExtensionID, CallLogID:
			f.Exact = append(f.Exact, Exact{c, groupID})
		case Status:
			f.Exact = append(f.Exact, Exact{c, "ready"})
		case CallSid:
			f.Exact = append(f.Exact, Exact{c, "CA7000"})
		default:
			f.Exact = append(f.Exact, Exact{c, "7"})
		}
	}
	return f
}

func narrowed() access.Narrowing {
	return access.Narrowing{On: true, Extension: uuid.NullUUID{UUID: uuid.MustParse(extensionID), Valid: true}}
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

// Every file is a statement or a part of one, the reader's role can prepare all statements, and rows name their
// columns.
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
		"column of another list": {p.Topology("phone", ExtensionID), Filter{Exact: []Exact{{Number, "1"}}}},
		"one known, one not":     {p.Topology("phone", ExtensionID), Filter{Exact: []Exact{{Status, "active"}, {Number, "1"}}}},
		"the same column twice":  {p.Topology("phone", ExtensionID), Filter{Exact: []Exact{{Status, "active"}, {Status, "inactive"}}}},
		"narrowed":               {p.Topology("phone", ExtensionID), Filter{Narrowing: narrowed()}},
	} {
		if sql, _, err := c.list.statement(c.filter); err == nil {
			t.Errorf("%s: statement = %s, want an error", name, sql)
		}
	}
}

// connect opens a connection with the role and the settings of a reader.
func connect(t *testing.T, database *schematest.Database) *pgx.Conn {
	t.Helper()
	conn := database.Connect(t, "callboard_reader", connection.ReaderSettings())
	if err := schema.PlanEachTime(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	return conn
}
