package readapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"callboard/readapi/query"
)

// The page of 100 rows that both benchmarks read lies in the middle of 50 thousand calls.
const (
	benchmarkCalls = 50_000
	benchmarkPage  = 251
)

func benchmarkReader(b *testing.B) (*reader, uuid.UUID) {
	b.Helper()
	r := newReader(b, func(c *Config) { c.Log = zerolog.Nop() })
	system := r.system("one")
	calls := make([]call, benchmarkCalls)
	for i := range calls {
		created := at("2026-01-01T00:00:00Z").Add(time.Duration(i) * 5 * time.Minute)
		calls[i] = call{id: uuid.New(), sid: fmt.Sprintf("CA%032d", i), createdAt: created}
	}
	r.calls(system, calls...)
	r.exec(`update projection.call_log set start_time = created_at, end_time = created_at, duration = 60, outcome = 'answered',
		from_name = 'Somebody', recording_sid = 'RE' || md5(call_sid), recording_duration = 58`)
	r.exec("vacuum analyze")
	return r, system
}

func BenchmarkListCallLogs(b *testing.B) {
	r, system := benchmarkReader(b)
	q := httptest.NewRequestWithContext(b.Context(), "GET", fmt.Sprintf("%s/customer/phone-systems/%s/call-logs?page=%d&pageSize=100", baseURL, system, benchmarkPage), nil)
	withKey(r.key(system))(q.Header)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := httptest.NewRecorder()
			r.handler.ServeHTTP(w, q)
			if w.Code != 200 || w.Body.Len() < 30_000 {
				b.Fatal(w.Code, w.Body)
			}
		}
	})
}

// BenchmarkListCallLogs_Query is the same page without HTTP, key and JSON.
func BenchmarkListCallLogs_Query(b *testing.B) {
	r, system := benchmarkReader(b)
	p := query.New(r.config.Primary)
	f := query.CallLogFilter{System: system, Window: query.Always(), Offset: (benchmarkPage - 1) * 100, Limit: 100}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if page, err := p.ListCallLogs(context.Background(), f); err != nil || len(page.Rows) != 100 {
				b.Fatal(len(page.Rows), err)
			}
		}
	})
}

// BenchmarkListCallLogs_SQL is the page's rows alone, as the plainest statement gets them, unread.
func BenchmarkListCallLogs_SQL(b *testing.B) {
	r, system := benchmarkReader(b)
	const sql = `select id, call_sid, parent_call_sid, direction, status, outcome, from_party, from_name, to_party, created_at,
		start_time, end_time, duration, recording_sid, recording_duration
		from projection.call_log where system_id = $1 and created_at < $2 order by created_at desc, id desc limit 100`
	until := at("2026-01-01T00:00:00Z").Add(benchmarkCalls / 2 * 5 * time.Minute)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			rows, err := r.config.Primary.Query(context.Background(), sql, system, until)
			if err != nil {
				b.Fatal(err)
			}
			for rows.Next() {
				_ = rows.RawValues()
			}
			if err := rows.Err(); err != nil || rows.CommandTag().RowsAffected() != 100 {
				b.Fatal(rows.CommandTag(), err)
			}
		}
	})
}

// BenchmarkAppendCallLog is the encoder alone, for 100 rows.
func BenchmarkAppendCallLog(b *testing.B) {
	r, system := benchmarkReader(b)
	page, err := query.New(r.config.Primary).ListCallLogs(context.Background(), query.CallLogFilter{System: system, Window: query.Always(), Limit: 100})
	if err != nil {
		b.Fatal(err)
	}
	q := &request{identifiers: identifiers{system: system}}
	var body []byte
	b.ReportAllocs()
	for b.Loop() {
		body = body[:0]
		for i := range page.Rows {
			body = appendCallLog(body, q, &page.Rows[i])
		}
	}
	b.SetBytes(int64(len(body)))
}
