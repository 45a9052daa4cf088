package readapi

import (
	"bytes"
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"callboard/readapi/encode"
	"callboard/schema/schematest"
)

// benchmarkReports adds 50,000 calls in steps of five minutes, each with an analysis, references and a transcript.
func benchmarkReports(b *testing.B, option func(*Config)) (*harness, uuid.UUID) {
	b.Helper()
	h := newHarness(b, func(c *Config) { c.Log = zerolog.Nop() }, option)
	system := h.system("one")
	h.setWatermark(at("2030-01-01T00:00:00Z"))
	h.benchmarkCalls(system)
	for _, sql := range []string{
		`insert into projection.call_group (system_id, id, version, name, number, status, created_at, updated_at, members, ring_pattern)
		 select $1, md5('g' || n)::uuid, 1, 'Group ' || n, 600 + n, 'active', now(), now(), '[]', 'all' from generate_series(0, 39) n`,
		`insert into projection.extension (system_id, id, version, number, name, status, created_at, updated_at, assigned_phones)
		 select $1, md5('e' || n)::uuid, 1, 100 + n, 'Extension ' || n, 'active', now(), now(), '[]' from generate_series(0, 199) n`,
		`insert into projection.representative (system_id, id, version, name, status, updated_at)
		 select $1, md5('r' || n)::uuid, 1, 'Representative ' || n, 'active', now() from generate_series(0, 59) n`,
		`insert into projection.classification (system_id, kind, code, version, label, status, score, updated_at)
		 select case when n % 3 = 0 then $1 else '00000000-0000-0000-0000-000000000000'::uuid end, k, 'code_' || n, 1, 'Label ' || n, 'active', n, now()
		 from unnest(array['category', 'overall_sentiment', 'employee_sentiment', 'customer_sentiment']) k, generate_series(0, 11) n`,
		`update projection.call_log c set
		   updated_at = created_at + interval '1 hour', start_time = created_at, end_time = created_at, duration = 60, outcome = 'answered',
		   from_name = 'Somebody', from_display = '(555) 000-1', from_number = from_party, to_display = '(555) 000-2', to_number = to_party,
		   recording_sid = 'RE' || md5(call_sid), recording_duration = 58, call_outcome_code = 'sale', is_converted = true, conversion_value = '12.50',
		   outcome_source = 'manual', route_summary = 'Main menu > Sales', transcription_status = 'completed',
		   transcript_text_bytes = 4500, transcript_turns_bytes = 5700,
		   tags = '[{"id":"d0000000-0000-4000-8000-000000000001","name":"VIP","group":"Customer","color":"#ff0000","source":"manual","confidence":null}]',
		   category = 'code_' || h % 14, overall_sentiment = 'code_' || h % 5, overall_sentiment_score = 0.5, employee_sentiment = 'code_' || h % 5,
		   customer_sentiment = 'code_' || h % 5, sentiment_source = 'model', scorecard_score = 88.5, representative_state = 'identified',
		   representative_id = md5('r' || h % 60)::uuid, representative_confidence = 0.93, representative_source = 'voice',
		   call_group_id = md5('g' || h % 40)::uuid, answered_by_extension_id = md5('e' || h % 200)::uuid, from_extension_id = md5('e' || h % 7)::uuid
		 from (select id, abs(hashtext(id::text)) as h from projection.call_log) x
		 where c.id = x.id and system_id = $1`,
		`insert into projection.transcript_text (system_id, owner, owner_id, text, turns)
		 select system_id, 'call', id, repeat('Hello, "who" is there? ' || h, 150), ('[' || repeat('{"text":"Hello, who is there?","speaker":{"kind":"role","role":"agent"},"startSeconds":1.5,"endSeconds":2.25,"confidence":0.93},', 45) ||
		   '{"text":"","speaker":{"kind":"unattributed"},"startSeconds":null,"endSeconds":null,"confidence":null}]')::json
		 from (select *, abs(hashtext(id::text)) % 100 as h from projection.call_log where system_id = $1) c`,
	} {
		h.exec(sql, system)
	}
	h.exec("vacuum full projection.call_log")
	h.exec("vacuum analyze")
	return h, system
}

// BenchmarkCallLogReports compares a request for a page with its statement alone, whose rows are not decoded. The difference is the
// reader's share.
func BenchmarkCallLogReports(b *testing.B) {
	last, option := keepLastStatement(b)
	h, system := benchmarkReports(b, option)
	key := h.key(system)
	for name, more := range map[string][]string{
		"createdAt":      {"limit", "100"},
		"updatedAt":      {"limit", "100", "timeField", "updatedAt"},
		"transcripts 25": {"limit", "25", "includeTranscripts", "true"},
	} {
		b.Run(name, func(b *testing.B) {
			query := reportQuery(append(more, "dateFrom", "2026-03-28T00:00:00Z", "dateTo", "2026-06-01T00:00:00Z")...)
			q := httptest.NewRequestWithContext(b.Context(), "GET", baseURL+reportPath(system, query), nil)
			withKey(key)(q.Header)
			var handler, sql []time.Duration
			for b.Loop() {
				start := time.Now()
				w := httptest.NewRecorder()
				h.handler.ServeHTTP(w, q)
				between := time.Now()
				last.repeat(b, h.config.Primary)
				handler, sql = append(handler, between.Sub(start)), append(sql, time.Since(between))
				if w.Code != 200 || strings.Count(w.Body.String(), `"callSid"`) < 25 {
					b.Fatal(w.Code, w.Body)
				}
			}
			slices.Sort(handler)
			slices.Sort(sql)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(handler[len(handler)/2].Microseconds()), "handler-p50-µs")
			b.ReportMetric(float64(sql[len(sql)/2].Microseconds()), "sql-p50-µs")
		})
	}
}

// BenchmarkRow writes 100 calls, and 100 report rows, whose columns are in memory.
func BenchmarkRow(b *testing.B) {
	last, option := keepLastStatement(b)
	h, system := benchmarkReports(b, option)
	key := h.key(system)
	for _, c := range []struct {
		name, path string
		members    []encode.Member
	}{
		{"call log", systemPath(system, "/call-logs?pageSize=100"), callLog()},
		{"report", reportPath(system, reportQuery("limit", "100", "dateFrom", "2026-03-28T00:00:00Z", "dateTo", "2026-06-01T00:00:00Z")), report()},
	} {
		if w := h.get(c.path, withKey(key)); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
		page := last.page(b, h.config.Primary)
		b.Run(c.name, func(b *testing.B) { page.benchmark(b, c.members) })
	}
}

// storedPage is a page's columns as they were received.
type storedPage struct {
	columns []pgconn.FieldDescription
	rows    [][][]byte
}

func (p storedPage) benchmark(b *testing.B, members []encode.Member) {
	b.Helper()
	first := slices.IndexFunc(p.columns, func(c pgconn.FieldDescription) bool { return c.Name == "id" })
	count := 0
	for _, m := range members {
		count += len(m.Types)
	}
	rows := encode.NewRowWriter(encode.NewLayout(members...), uuid.Nil, nil)
	rows.Names = sameNames{`{"id":"00000000-0000-0000-0000-000000000000","name":"Somebody","number":"101"}`, `{"code":"x","label":"X"}`}
	b.ReportAllocs()
	for b.Loop() {
		if err := rows.Begin(p.columns[first : first+count]); err != nil {
			b.Fatal(err)
		}
		for _, row := range p.rows[:100] {
			if err := rows.Append(row[first : first+count]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(len(rows.Body)))
}

// sameNames implements [encode.Names] with one reference and one code.
type sameNames struct {
	reference, code string
}

// Reference implements [encode.Names].
func (n sameNames) Reference(string, uuid.UUID) string { return n.reference }

// Code implements [encode.Names].
func (n sameNames) Code(string, []byte) (object, score string) { return n.code, n.code }

// lastStatement is the statement on calls that ran last.
type lastStatement struct {
	sql       string
	arguments []any
}

// keepLastStatement keeps the last statement on calls.
func keepLastStatement(b *testing.B) (last *lastStatement, option func(*Config)) {
	b.Helper()
	last = new(lastStatement)
	return last, withTracer(b, &schematest.Tracer{Statement: func(sql string, arguments []any) {
		if strings.Contains(sql, "call_log") {
			*last = lastStatement{sql, arguments}
		}
	}})
}

// page reads the statement's columns.
func (s *lastStatement) page(b *testing.B, pool *pgxpool.Pool) storedPage {
	b.Helper()
	rows, err := pool.Query(context.Background(), s.sql, s.arguments...)
	if err != nil {
		b.Fatal(err)
	}
	var page storedPage
	for rows.Next() {
		page.columns = slices.Clone(rows.FieldDescriptions())
		var row [][]byte
		for _, value := range rows.RawValues() {
			row = append(row, bytes.Clone(value))
		}
		page.rows = append(page.rows, row)
	}
	if err := rows.Err(); err != nil || len(page.rows) < 100 {
		b.Fatal(len(page.rows), err)
	}
	return page
}

// repeat runs the statement and does not decode its rows.
func (s *lastStatement) repeat(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	rows, err := pool.Query(context.Background(), s.sql, s.arguments...)
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
		_ = rows.RawValues()
	}
	if err := rows.Err(); err != nil || rows.CommandTag().RowsAffected() < 26 {
		b.Fatal(rows.CommandTag(), err)
	}
}
