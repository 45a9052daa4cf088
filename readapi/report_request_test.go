package readapi

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// The rules of the report list's parameters, as the problems that they make: pointer and code, in order.
func TestListCallLogReports_Parameters(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	key := r.key(system)
	window := "dateFrom=" + windowFrom + "&dateTo=" + windowTo
	for query, want := range map[string]string{
		"":                                            "/dateFrom REQUIRED, /dateTo REQUIRED",
		"dateFrom=" + windowFrom:                      "/dateTo REQUIRED",
		"dateTo=" + windowTo:                          "/dateFrom REQUIRED",
		"dateFrom=&dateTo=" + windowTo:                "/dateFrom INVALID_FORMAT",
		"dateFrom=x&dateTo=y":                         "/dateFrom INVALID_FORMAT, /dateTo INVALID_FORMAT",
		window:                                        "",
		window + "&dateTo=" + windowTo:                "/dateTo REPEATED",
		window + "&pageSize=10":                       "/pageSize UNKNOWN_PARAMETER",
		window + "&page=1":                            "/page UNKNOWN_PARAMETER",
		window + "&timeField=createdAt":               "",
		window + "&timeField=updatedAt":               "",
		window + "&timeField=startTime":               "/timeField NOT_ALLOWED",
		window + "&timeField=CreatedAt":               "/timeField NOT_ALLOWED",
		window + "&timeField=":                        "/timeField INVALID_FORMAT",
		window + "&limit=1":                           "",
		window + "&limit=100":                         "",
		window + "&limit=0":                           "/limit TOO_SMALL",
		window + "&limit=101":                         "/limit TOO_LARGE",
		window + "&limit=x":                           "/limit INVALID_FORMAT",
		window + "&limit=1&limit=1":                   "/limit REPEATED",
		window + "&includeTranscripts=":               "/includeTranscripts INVALID_FORMAT",
		window + "&includeTranscripts=1":              "/includeTranscripts INVALID_FORMAT",
		window + "&includeTranscripts=TRUE":           "/includeTranscripts INVALID_FORMAT",
		window + "&includeTranscripts=true&limit=25":  "",
		window + "&includeTranscripts=true&limit=26":  "/limit TOO_LARGE",
		window + "&includeTranscripts=false&limit=26": "",
		window + "&cursor=":                           "/cursor INVALID_FORMAT",
		window + "&cursor=x":                          "/cursor CURSOR_INVALID",
		"cursor=x":                                    "/dateFrom REQUIRED, /dateTo REQUIRED, /cursor CURSOR_INVALID",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-01T00:00:00%2B00:00":                "",
		"dateFrom=2026-03-01T00:00:00Z&dateTo=2026-03-01T01:00:00%2B01:00":                "/dateTo INVALID_FORMAT",
		"dateFrom=2026-03-01T00:00:00.001Z&dateTo=2026-03-01T00:00:00Z":                   "/dateTo TOO_SMALL",
		"dateFrom=2026-03-01T00:00:00.0000000002Z&dateTo=2026-03-01T00:00:00.0000000001Z": "/dateTo TOO_SMALL",
		"dateFrom=0000-01-01T00:00:00Z&dateTo=9999-12-31T23:59:59.9999Z":                  "",
	} {
		w := r.get(reportPath(system, query), withKey(key))
		if want == "" {
			if w.Code != 200 {
				t.Errorf("%s: %d %s", query, w.Code, w.Body)
			}
			continue
		}
		if problem := problemIn(t, w); w.Code != 400 || problem.Code != "VALIDATION_FAILED" || summary(problem.Errors) != want {
			t.Errorf("%s: %d %s, want %s", query, w.Code, summary(problem.Errors), want)
		}
	}
}

// The window is half open, to any fraction of a second.
func TestListCallLogReports_Window(t *testing.T) {
	r := newReader(t)
	system := r.system("one")
	var calls []call
	for i, created := range []string{"09:29:59.999", "09:30:00", "09:30:00.001", "09:30:00.002"} {
		calls = append(calls, call{id: nth(i), sid: "CA1", createdAt: at("2026-03-01T" + created + "Z")})
	}
	r.calls(system, calls...)
	r.exec("update projection.call_log set updated_at = created_at + interval '1 hour'")
	key := r.key(system)
	for window, want := range map[string]string{
		"09:30:00 09:30:00.002":          "12",
		"09:30:00 09:30:00":              "",
		"09:30:00 09:30:00.0000001":      "1",
		"09:30:00.0000001 09:30:00.001":  "",
		"09:30:00.0000001 09:30:00.0011": "2",
		"09:29:59.999 09:30:00.00200":    "012",
		"09:29:59.9989 09:30:00.002001":  "0123",
	} {
		from, to, _ := strings.Cut(window, " ")
		for field, hour := range map[string]string{"createdAt": "09", "updatedAt": "10"} {
			moved := strings.NewReplacer("09:", hour+":")
			query := reportQuery("timeField", field, "dateFrom", "2026-03-01T"+moved.Replace(from)+"Z", "dateTo", "2026-03-01T"+moved.Replace(to)+"Z")
			var page reportPage
			decode(t, r.get(reportPath(system, query), withKey(key)), &page)
			var got strings.Builder
			for _, row := range page.Data {
				got.WriteByte(row.ID.String()[35])
			}
			if got.String() != want || page.HasMore {
				t.Errorf("%s: rows %q, want %q", query, &got, want)
			}
		}
	}
}

// A system outside the grant is not there.
func TestListCallLogReports_NotFound(t *testing.T) {
	r := newReader(t)
	key := r.key(r.system("one"))
	if w := r.get(reportPath(uuid.New(), reportQuery()), withKey(key)); w.Code != 404 || problemIn(t, w).Code != "NOT_FOUND" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
