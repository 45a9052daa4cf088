package readapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"callboard/readapi/encode"
	"callboard/readapi/query"
	"callboard/readapi/query/querytest"
)

// Both benchmarks read a page of 100 rows in the middle of 50,000 calls.
const (
	benchmarkCalls = 50_000
	benchmarkPage  = 251
)

// benchmarkCalls adds calls in steps of five minutes.
func (h *harness) benchmarkCalls(system uuid.UUID) {
	h.Helper()
	calls := make([]call, benchmarkCalls)
	for i := range calls {
		created := at("2026-01-01T00:00:00Z").Add(time.Duration(i) * 5 * time.Minute)
		calls[i] = call{id: uuid.New(), sid: fmt.Sprintf("CA%032d", i), createdAt: created}
	}
	h.calls(system, calls...)
}

func benchmarkHarness(b *testing.B) (*harness, uuid.UUID) {
	b.Helper()
	h := newHarness(b, func(c *Config) { c.Log = zerolog.Nop() })
	system := h.system("one")
	h.benchmarkCalls(system)
	h.exec(`update projection.call_log set start_time = created_at, end_time = created_at, duration = 60, outcome = 'answered',
		from_name = 'Somebody', recording_sid = 'RE' || md5(call_sid), recording_duration = 58`)
	h.exec("vacuum analyze")
	return h, system
}

func BenchmarkListCallLogs(b *testing.B) {
	h, system := benchmarkHarness(b)
	q := httptest.NewRequestWithContext(b.Context(), "GET", fmt.Sprintf("%s/customer/phone-systems/%s/call-logs?page=%d&pageSize=100", baseURL, system, benchmarkPage), nil)
	withKey(h.key(system))(q.Header)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := httptest.NewRecorder()
			h.handler.ServeHTTP(w, q)
			if w.Code != 200 || w.Body.Len() < 30_000 {
				b.Fatal(w.Code, w.Body)
			}
		}
	})
}

// BenchmarkListCallLogs_Query reads the same page without HTTP and key.
func BenchmarkListCallLogs_Query(b *testing.B) {
	h, system := benchmarkHarness(b)
	list := query.New(h.config.Primary).CallLogs()
	f := query.Filter{System: system, Window: query.Always(), Offset: (benchmarkPage - 1) * 100, Limit: 100}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		rows := encode.NewRowWriter(encode.NewLayout(callLog()...), system, nil)
		for pb.Next() {
			if _, err := list.Page(context.Background(), f, rows); err != nil || rows.Count != 100 {
				b.Fatal(rows.Count, err)
			}
		}
	})
}

// BenchmarkListCallLogs_SQL reads the page's rows with the simplest statement and does not decode them.
func BenchmarkListCallLogs_SQL(b *testing.B) {
	h, system := benchmarkHarness(b)
	const sql = `select id, call_sid, parent_call_sid, direction, status, outcome, from_party, from_name, to_party, created_at,
		start_time, end_time, duration, recording_sid, recording_duration
		from projection.call_log where system_id = $1 and created_at < $2 order by created_at desc, id desc limit 100`
	until := at("2026-01-01T00:00:00Z").Add(benchmarkCalls / 2 * 5 * time.Minute)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			rows, err := h.config.Primary.Query(context.Background(), sql, system, until)
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

// BenchmarkDeepPage reads the first and the last page of short and long lists over two years, without key and HTTP. The four of a
// list should cost the same.
func BenchmarkDeepPage(b *testing.B) {
	for _, count := range []int{10_000, 1_000_000} {
		h := newHarness(b)
		system := h.system("one")
		h.fillYears(system, count)
		p := query.New(h.config.Primary)
		for _, list := range []struct {
			name   string
			handle handler
		}{
			{"call logs", datedList(p.CallLogs(), callLog(), nil)},
			{"recordings", datedList(p.CallRecordings(), callRecording(), nil)},
			{"phones", topologyList(p.Phones(), phone(), nil)},
		} {
			for _, page := range []int{1, count / defaultPageSize} {
				b.Run(fmt.Sprintf("%s/%d/page %d", list.name, count, page), func(b *testing.B) {
					for b.Loop() {
						q := &request{identifiers: identifiers{system: system}, parameters: parseParameters(fmt.Sprintf("page=%d", page))}
						var out reply
						if err := list.handle(b.Context(), q, &out); err != nil || len(out.body) < 25*100 {
							b.Fatal(err, string(out.body))
						}
					}
				})
			}
		}
	}
}

// fillYears adds calls with recordings, and phones, evenly over two years.
func (h *harness) fillYears(system uuid.UUID, count int) {
	h.Helper()
	const created = "'2024-03-01Z'::timestamptz + n * interval '730 days' / $2"
	h.exec(`insert into projection.call_log (
		  system_id, id, version, updated_at, call_sid, direction, status, from_party, to_party, created_at,
		  is_emergency, is_converted, is_edited, tags, transcription_status, representative_state)
		select $1, gen_random_uuid(), 1, 'epoch', 'CA' || n, 'inbound', 'completed', '+15550001', '+15550002', `+created+`,
		  false, false, false, '[]', 'unavailable', 'not_analyzed'
		from generate_series(0, $2::integer - 1) n`, system, count)
	h.exec(`insert into projection.recording (system_id, recording_sid, version, owner, owner_id, status, created_at, call_sid)
		select system_id, 'RE' || md5(call_sid), 1, 'call', id, 'ready', created_at, call_sid
		from projection.call_log`)
	h.exec(`insert into projection.phone (system_id, id, version, name, status, created_at, updated_at, hardware)
		select system_id, id, 1, call_sid, 'active', created_at, created_at, '{}'
		from projection.call_log`)
	querytest.Count(h, h.pool)
	h.exec("vacuum analyze")
}

// BenchmarkDescribeSpan is what a request costs more with spans, and without them.
func BenchmarkDescribeSpan(b *testing.B) {
	x, out := &exchange{operation: "listCallLogs", requestID: "1"}, &reply{}
	b.Run("off", func(b *testing.B) {
		ctx := httptest.NewRequestWithContext(b.Context(), "GET", "/", nil).Context()
		b.ReportAllocs()
		for b.Loop() {
			describeSpan(ctx, x, out, 200, nil)
		}
	})
	b.Run("on", func(b *testing.B) {
		tracer := sdktrace.NewTracerProvider().Tracer("test")
		b.ReportAllocs()
		for b.Loop() {
			ctx, span := tracer.Start(b.Context(), "request")
			describeSpan(ctx, x, out, 200, nil)
			span.End()
		}
	})
}
